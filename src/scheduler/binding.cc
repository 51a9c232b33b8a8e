#include "schedfw/scheduler/binding.h"

#include "schedfw/scheduler/binding_inl.h"
