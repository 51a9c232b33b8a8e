// Prints what a cluster costs in memory: bytes a node and bytes a bound pod, with and without the
// texts that no other object has.
//
// Counted is what operator new gave and delete didn't take, by malloc_usable_size and the eight
// bytes that glibc keeps beside each allocation.

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/cluster/cluster.h"

namespace {

std::int64_t live_bytes = 0;  // one thread alone allocates

void* Allocate(std::size_t size) {
  void* out = std::malloc(size);
  if (out == nullptr) throw std::bad_alloc();
  live_bytes += static_cast<std::int64_t>(malloc_usable_size(out) + 8);
  return out;
}

void Free(void* pointer) {
  if (pointer == nullptr) return;
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(pointer) + 8);
  std::free(pointer);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* pointer) noexcept { Free(pointer); }
void operator delete[](void* pointer) noexcept { Free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { Free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { Free(pointer); }

namespace schedfw::benchmarks {
namespace {

std::int64_t Texts(const api::StringMap& map) {
  std::size_t out = 0;
  for (const auto& [key, value] : map) out += value.size();
  return static_cast<std::int64_t>(out);
}

// What no other object has. Texts of labels, images and conditions are counted as costs.
std::int64_t OwnTexts(const api::Node& node) {
  const api::ObjectMeta& m = node.metadata;
  return static_cast<std::int64_t>(m.name.size() + m.uid.size()) + Texts(m.annotations);
}
// Annotations are those of the pod's kind as a rule.
std::int64_t OwnTexts(const api::Pod& pod) {
  const api::ObjectMeta& m = pod.metadata;
  return static_cast<std::int64_t>(m.name.size() + m.uid.size() + pod.spec.node_name.size());
}

// The bytes that a cluster of these objects holds.
std::int64_t HeldBytes(api::ObjectList objects) {
  auto cluster = Cluster::FromObjects(std::move(objects));
  if (!cluster) {
    std::fprintf(stderr, "%s\n", cluster.error().message().c_str());
    std::exit(1);
  }
  const std::int64_t with_cluster = live_bytes;
  *cluster = Cluster();
  return with_cluster - live_bytes;
}

template <typename T>
void Print(const char* what, std::int64_t bytes, const std::vector<T>& objects) {
  std::int64_t texts = 0;
  for (const T& object : objects) texts += OwnTexts(object);
  const auto n = static_cast<double>(objects.size());
  std::printf("%-10s %8zu  %8.0f bytes each, of which %6.0f are texts of its own, %6.0f above\n",
              what, objects.size(), static_cast<double>(bytes) / n, static_cast<double>(texts) / n,
              static_cast<double>(bytes - texts) / n);
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: schedfw_memory FILE   (what kubectl get nodes,pods -o json prints)\n");
    return 2;
  }
  auto objects = api::ReadObjects({argv[1]});
  if (!objects || !api::Normalize(*objects)) {
    std::fprintf(stderr, "%s can't be read\n", argv[1]);
    return 1;
  }
  std::erase_if(objects->pods,
                [](const api::Pod& pod) { return pod.spec.node_name.empty() || pod.IsTerminal(); });
  api::ObjectList nodes;
  nodes.nodes = objects->nodes;
  const std::int64_t of_nodes = HeldBytes(std::move(nodes));
  const std::int64_t of_all = HeldBytes(*objects);
  Print("nodes", of_nodes, objects->nodes);
  Print("bound pods", of_all - of_nodes, objects->pods);
  return 0;
}

}  // namespace
}  // namespace schedfw::benchmarks

int main(int argc, char** argv) { return schedfw::benchmarks::Main(argc, argv); }
