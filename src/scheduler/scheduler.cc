#include "schedfw/scheduler/scheduler.h"

#include "schedfw/scheduler/scheduler_inl.h"
