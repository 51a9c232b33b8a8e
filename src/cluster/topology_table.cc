#include "schedfw/cluster/topology_table.h"
// The header leaves this out where the library is compiled.
#include "schedfw/cluster/topology_table_inl.h"
