// One fault plan: a cluster, what happens to it while plugins fail, and what must hold at the end.
#ifndef SCHEDFW_TESTS_FAULTS_FAULT_RUN_H_
#define SCHEDFW_TESTS_FAULTS_FAULT_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/scheduler/loop.h"

namespace schedfw::testing {

/// Where pods are bound.
enum class BinderKind : std::uint8_t {
  kNone,      ///< within the step
  kInline,    ///< later, in virtual time
  kThreaded,  ///< on eight threads
};

struct FaultRunOptions {
  std::uint64_t seed = 0;
  std::optional<BinderKind> binder;  ///< absent: the seed chooses
  /// Compare states captured in the middle of cycles with what is committed, and check nothing
  /// else.
  bool capture = false;
  Isolation isolation = Isolation::kOn;
};

/// What a plan has shown. A text says what is wrong with one pod, or with the whole.
struct FaultRunResult {
  std::string mode;  ///< what kind of plan it was
  std::vector<std::string> lost, doubled, stuck, diverged;
  std::int64_t attempts = 0, bound = 0, evicted = 0, faults = 0, lost_replies = 0;
  std::int64_t captured = 0, recoverable = 0;

  bool ok() const { return lost.empty() && doubled.empty() && stuck.empty() && diverged.empty(); }
};

/// Runs a plan: 16 nodes and 200 pods, all decided by the seed.
FaultRunResult RunFaultPlan(const FaultRunOptions& options);

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_FAULTS_FAULT_RUN_H_
