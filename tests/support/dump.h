// CanonicalDump: the state of a cluster as text that doesn't depend on how it came about.
#ifndef SCHEDFW_TESTS_SUPPORT_DUMP_H_
#define SCHEDFW_TESTS_SUPPORT_DUMP_H_

#include <string>

#include "schedfw/cluster/snapshot.h"

namespace schedfw::testing {

/// All that is in a cluster: nodes by name with their columns and pods, the order of a search,
/// pods that wait by name, nominations by node, images, and the other objects. Not in it: rows, the
/// order of pods, and what a pod on a node was once nominated to. A pod counts on the node that it
/// is on, whether it is assumed there, was bound by the library, or came with it.
std::string CanonicalDump(const Snapshot& snapshot);

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_DUMP_H_
