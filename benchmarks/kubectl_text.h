// A cluster as the text that kubectl prints.
#ifndef SCHEDFW_BENCHMARKS_KUBECTL_TEXT_H_
#define SCHEDFW_BENCHMARKS_KUBECTL_TEXT_H_

#include <cstdint>
#include <string>

namespace schedfw::benchmarks {

/// A List of `pods` pods and of their nodes, ten pods a node. kubectl_file.py prints longer and
/// more varied ones.
std::string KubectlText(std::int64_t pods);

}  // namespace schedfw::benchmarks

#endif  // SCHEDFW_BENCHMARKS_KUBECTL_TEXT_H_
