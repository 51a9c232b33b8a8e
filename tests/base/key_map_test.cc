#include "schedfw/base/key_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>

#include "schedfw/base/random.h"

namespace schedfw {
namespace {

TEST(KeyMap, KnowsNothingAtFirst) {
  KeyMap<int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.Find(0), nullptr);
  EXPECT_FALSE(map.Erase(0));
  map.Set(0, 7);  // a key like any other
  ASSERT_NE(map.Find(0), nullptr);
  EXPECT_EQ(*map.Find(0), 7);
  map.Set(0, 8);
  EXPECT_EQ(*map.Find(0), 8);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_TRUE(map.Erase(0));
  EXPECT_FALSE(map.Contains(0));
}

// Compared with the standard map, with keys that collide and come in runs.
TEST(KeyMap, AgreesWithTheStandardMap) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    KeyMap<std::uint64_t> map;
    std::unordered_map<std::uint64_t, std::uint64_t> want;
    const std::uint64_t keys = 1 + random.Below(300);
    const std::uint64_t stride = seed % 2 == 0 ? 1 : std::uint64_t{1} << 32;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t key = random.Below(keys) * stride;
      if (random.Below(2) == 0) {
        map.Set(key, static_cast<std::uint64_t>(i));
        want[key] = static_cast<std::uint64_t>(i);
      } else {
        EXPECT_EQ(map.Erase(key), want.erase(key) == 1);
      }
      ASSERT_EQ(map.size(), want.size());
    }
    for (std::uint64_t k = 0; k < keys; ++k) {
      const auto it = want.find(k * stride);
      const std::uint64_t* found = map.Find(k * stride);
      ASSERT_EQ(found != nullptr, it != want.end());
      if (found != nullptr) {
        EXPECT_EQ(*found, it->second);
      }
    }
  }
}

}  // namespace
}  // namespace schedfw
