#include "schedfw/framework/framework.h"

#include "schedfw/framework/framework_inl.h"
