#include "schedfw/cluster/numa_demand.h"
// The header leaves this out where the library is compiled.
#include "schedfw/cluster/numa_demand_inl.h"
