#include "schedfw/cluster/read_cluster.h"

#include <algorithm>
#include <utility>

#include "api/read_pieces.h"
#include "schedfw/api/normalize.h"

namespace schedfw {

// Compiles the pods that have a node while the rest of the file is still to be read.
class ClusterReader : public api::PieceTaker {
 public:
  void Take(api::ObjectList& found) override {
    std::erase_if(found.pods, [&](api::Pod& pod) { return pod.IsTerminal() || Compile(pod); });
  }
  void Keep() override { kept_ = pods_.size(); }
  void Drop() override { pods_.resize(kept_); }

  Result<Cluster> Finish(api::ObjectList objects) {
    if (auto done = cluster_.Fill(objects, std::move(pods_)); !done) return done.error();
    return std::move(cluster_);
  }

 private:
  // False: the pod is left to be normalised with all the others. What it says itself of its
  // priority needs no PriorityClass; a pod that can't be compiled is reported in its turn.
  bool Compile(api::Pod& pod) {
    if (pod.spec.node_name.empty() || !pod.spec.priority || !pod.spec.preemption_policy) {
      return false;
    }
    api::SetDefaults(pod);
    auto compiled = cluster_.CompileBound(pod);
    if (!compiled) return false;
    pods_.push_back(*std::move(compiled));
    return true;
  }

  Cluster cluster_;
  std::vector<Cluster::BoundPod> pods_;
  std::size_t kept_ = 0;
};

Result<Cluster> ReadCluster(const std::vector<std::string>& paths,
                            std::map<std::string, std::int64_t>* ignored) {
  ClusterReader reader;
  auto objects = api::ReadObjects(paths, reader);
  if (!objects) return objects.error();
  if (auto done = api::Normalize(*objects); !done) return done.error();
  if (ignored != nullptr) *ignored = std::move(objects->ignored);
  return reader.Finish(*std::move(objects));
}

}  // namespace schedfw
