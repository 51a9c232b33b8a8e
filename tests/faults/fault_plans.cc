// Runs many fault plans and says what they have shown; scripts/faults.sh builds it.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "faults/fault_run.h"
#include "schedfw/base/random.h"

namespace {

using schedfw::Isolation;
using schedfw::testing::BinderKind;
using schedfw::testing::FaultRunOptions;
using schedfw::testing::FaultRunResult;

constexpr const char* kUsage =
    "usage: fault_plans [PLANS] [SEED] [--binder none|inline|threaded] [--threads N] [--leak]\n"
    "                   [--only NUMBER]\n";

struct Options {
  std::uint64_t plans = 10000;
  std::uint64_t seed = 1;
  std::optional<BinderKind> binder;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  bool leak = false;
  std::optional<std::uint64_t> only;  // this plan alone
};

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<Options> Parse(const std::vector<std::string_view>& args) {
  Options out;
  int numbers = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    const std::string_view value = i + 1 < args.size() ? args[i + 1] : std::string_view();
    if (arg == "--leak") {
      out.leak = true;
    } else if (arg == "--binder") {
      if (value == "none") {
        out.binder = BinderKind::kNone;
      } else if (value == "inline") {
        out.binder = BinderKind::kInline;
      } else if (value == "threaded") {
        out.binder = BinderKind::kThreaded;
      } else {
        return std::nullopt;
      }
      ++i;
    } else if (arg == "--threads" || arg == "--only") {
      const auto number = Number(value);
      if (!number) return std::nullopt;
      if (arg == "--only") {
        out.only = *number;
      } else {
        out.threads = static_cast<unsigned>(std::max<std::uint64_t>(1, *number));
      }
      ++i;
    } else {
      const auto number = Number(arg);
      if (!number || numbers == 2) return std::nullopt;
      (numbers++ == 0 ? out.plans : out.seed) = *number;
    }
  }
  return out;
}

// All plans, on all cores; the results in their order.
std::vector<FaultRunResult> RunAll(const Options& options, FaultRunOptions run) {
  std::vector<FaultRunResult> out(options.plans);
  std::atomic<std::uint64_t> next = options.only.value_or(0);
  const std::uint64_t end =
      options.only ? std::min(*options.only + 1, options.plans) : options.plans;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, run]() mutable {
      for (std::uint64_t i = next++; i < end; i = next++) {
        run.seed = schedfw::Random(options.seed * 0x9e3779b97f4a7c15U + i).Next();
        out[i] = schedfw::testing::RunFaultPlan(run);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return out;
}

// How many states that were captured in the middle of cycles equal what was committed.
int PrintLeaks(const Options& options) {
  double shares[2] = {};
  std::int64_t captured[2] = {};
  for (const Isolation isolation : {Isolation::kOn, Isolation::kOff}) {
    FaultRunOptions run;
    run.binder = options.binder.value_or(BinderKind::kNone);
    run.capture = true;
    run.isolation = isolation;
    std::int64_t recoverable = 0;
    const auto i = static_cast<std::size_t>(isolation);
    for (const FaultRunResult& result : RunAll(options, run)) {
      captured[i] += result.captured;
      recoverable += result.recoverable;
    }
    if (captured[i] != 0) {
      shares[i] = 100.0 * static_cast<double>(recoverable) / static_cast<double>(captured[i]);
    }
  }
  std::printf("| recoverable states | article | measured here | captured |\n|---|---|---|---|\n");
  std::printf("| with isolation | 100 %% | %.1f %% | %lld |\n", shares[0],
              static_cast<long long>(captured[0]));
  std::printf("| without | 62 %% | %.1f %% | %lld |\n", shares[1],
              static_cast<long long>(captured[1]));
  return captured[0] != 0 && shares[0] >= 100 ? 0 : 1;
}

void PrintProblems(const char* what, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) std::printf("  %s: %s\n", what, problem.c_str());
}

int PrintPlans(const Options& options) {
  FaultRunOptions run;
  run.binder = options.binder;
  std::int64_t lost = 0, doubled = 0, stuck = 0, diverged = 0;
  FaultRunResult sums;
  const std::vector<FaultRunResult> results = RunAll(options, run);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const FaultRunResult& result = results[i];
    lost += result.lost.empty() ? 0 : 1;
    doubled += result.doubled.empty() ? 0 : 1;
    stuck += result.stuck.empty() ? 0 : 1;
    diverged += result.diverged.empty() ? 0 : 1;
    sums.attempts += result.attempts;
    sums.bound += result.bound;
    sums.evicted += result.evicted;
    sums.faults += result.faults;
    sums.lost_replies += result.lost_replies;
    if (result.ok()) continue;
    std::printf("plan %zu of seed %llu (%s):\n", i, static_cast<unsigned long long>(options.seed),
                result.mode.c_str());
    PrintProblems("lost", result.lost);
    PrintProblems("double", result.doubled);
    PrintProblems("stuck", result.stuck);
    PrintProblems("diverged", result.diverged);
  }
  std::printf("attempts=%lld bound=%lld evicted=%lld faults=%lld lost replies=%lld\n",
              static_cast<long long>(sums.attempts), static_cast<long long>(sums.bound),
              static_cast<long long>(sums.evicted), static_cast<long long>(sums.faults),
              static_cast<long long>(sums.lost_replies));
  std::printf("plans=%llu lost=%lld double=%lld stuck=%lld diverged=%lld\n",
              static_cast<unsigned long long>(options.plans), static_cast<long long>(lost),
              static_cast<long long>(doubled), static_cast<long long>(stuck),
              static_cast<long long>(diverged));
  return lost + doubled + stuck + diverged == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = Parse({argv + 1, argv + argc});
  if (!options) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return options->leak ? PrintLeaks(*options) : PrintPlans(*options);
}
