// Merging hints, against the definition: each combination of hints is tried.

#include "schedfw/topology/topology_manager.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedfw/base/random.h"

namespace schedfw {
namespace {

// What kubelet's HintMerger does, step by step (policy.go).
NumaHint MergeOneByOne(NumaPolicy policy, std::size_t zones, std::vector<NumaHints> lists) {
  const auto all = static_cast<ZoneMask>((1U << zones) - 1);
  struct Hint {
    std::optional<ZoneMask> zones;
    bool preferred;
  };
  std::vector<std::vector<Hint>> hints;
  for (const NumaHints& list : lists) {
    std::vector<Hint>& out = hints.emplace_back();
    for (const NumaHint& hint : list) out.push_back({hint.zones, hint.preferred});
    if (list.empty()) out.push_back({std::nullopt, false});
  }
  if (policy == NumaPolicy::kSingleNumaNode) {
    for (auto& list : hints) {
      std::erase_if(list, [](const Hint& hint) {
        return !hint.preferred || (hint.zones && std::popcount(*hint.zones) != 1);
      });
    }
  }
  int wanted = 0;
  for (const auto& list : hints) {
    std::optional<ZoneMask> narrowest;
    for (const Hint& hint : list) {
      if (hint.zones && (!narrowest || IsNarrower(*hint.zones, *narrowest))) narrowest = hint.zones;
    }
    if (narrowest) wanted = std::max(wanted, std::popcount(*narrowest));
  }
  std::optional<NumaHint> best;
  const auto offer = [&](const NumaHint& next) {
    const int width = std::popcount(next.zones);
    if (width == 0) return;
    if (!best) {
      best = next;
      return;
    }
    const int own = std::popcount(best->zones);
    const auto narrower = [&] {
      if (IsNarrower(next.zones, best->zones)) best = next;
    };
    if (best->preferred != next.preferred) {
      if (next.preferred) best = next;
    } else if (next.preferred || own > wanted) {
      narrower();
    } else if (own == wanted) {
      if (width == wanted) narrower();
    } else if (width > wanted) {
      return;
    } else if (width == wanted || width > own) {
      best = next;
    } else if (width == own) {
      narrower();
    }
  };
  std::vector<std::size_t> at(hints.size());
  for (const auto& list : hints) {
    if (list.empty()) return {all, false};
  }
  while (true) {
    NumaHint merged{all, true};
    std::optional<ZoneMask> first;
    for (std::size_t i = 0; i < hints.size(); ++i) {
      const Hint& hint = hints[i][at[i]];
      merged.preferred = merged.preferred && hint.preferred;
      if (!hint.zones) continue;
      if (!first) first = hint.zones;
      merged.preferred = merged.preferred && *hint.zones == *first;
      merged.zones &= *hint.zones;
    }
    offer(merged);
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == hints[i].size()) at[i++] = 0;
    if (i == at.size()) break;
  }
  return best.value_or(NumaHint{all, false});
}

TEST(TopologyManager, MergesAsIfEachCombinationWereTried) {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    SCOPED_TRACE(round);
    const std::size_t zones = 1 + random.Below(4);
    std::vector<NumaHints> hints(random.Below(4));
    for (NumaHints& list : hints) {
      // As providers make them: those of the least width are preferred, if any are.
      const std::uint64_t preferred = random.Below(zones + 2);
      for (ZoneMask mask = 1; mask < 1U << zones; ++mask) {
        if (random.Below(3) == 0) continue;
        list.push_back({mask, static_cast<std::uint64_t>(std::popcount(mask)) == preferred});
      }
    }
    for (const NumaPolicy policy :
         {NumaPolicy::kBestEffort, NumaPolicy::kRestricted, NumaPolicy::kSingleNumaNode}) {
      const NumaHint want = MergeOneByOne(policy, zones, hints);
      const NumaHint got = MergeHints(policy, zones, hints);
      EXPECT_EQ(got.zones, want.zones);
      EXPECT_EQ(got.preferred, want.preferred);
    }
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(TopologyManager, TheNarrowestCommonSetWins) {
  const NumaHints cpu = {{0b01, true}, {0b10, true}, {0b11, false}};
  const NumaHints gpu = {{0b10, true}, {0b11, false}};
  const std::vector<NumaHints> both = {cpu, gpu};
  EXPECT_EQ(MergeHints(NumaPolicy::kBestEffort, 2, both), (NumaHint{0b10, true}));
  const std::vector<NumaHints> apart = {NumaHints{{0b01, true}, {0b11, false}}, gpu};
  // No zone has both, so it is not preferred; one zone is as many as each of them needs.
  EXPECT_EQ(MergeHints(NumaPolicy::kBestEffort, 2, apart), (NumaHint{0b01, false}));
  EXPECT_EQ(MergeHints(NumaPolicy::kSingleNumaNode, 2, apart), (NumaHint{0b11, false}));
  const std::vector<NumaHints> none = {cpu, NumaHints{}};
  EXPECT_EQ(MergeHints(NumaPolicy::kRestricted, 2, none), (NumaHint{0b01, false}));
  EXPECT_EQ(MergeHints(NumaPolicy::kRestricted, 2, {}), (NumaHint{0b11, true}));
}

}  // namespace
}  // namespace schedfw
