#include "schedfw/topology/gpu_topology.h"
// The header leaves this out where the library is compiled.
#include "schedfw/topology/gpu_topology_inl.h"
