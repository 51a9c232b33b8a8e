#include "schedfw/cluster/numa.h"
// The header leaves this out where the library is compiled.
#include "schedfw/cluster/numa_inl.h"
