#include "schedfw/plugins/registry.h"

#include "schedfw/plugins/registry_inl.h"
