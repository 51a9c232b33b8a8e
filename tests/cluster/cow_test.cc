#include "schedfw/cluster/cow.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedfw/base/random.h"

namespace schedfw {
namespace {

TEST(Cow, CopiesShareUntilWritten) {
  Cow<std::vector<int>> a(std::vector<int>{1, 2, 3});
  Cow<std::vector<int>> b = a;
  EXPECT_EQ(a->data(), b->data());
  b.Mutable()[0] = 9;
  EXPECT_NE(a->data(), b->data());
  EXPECT_EQ((*a)[0], 1);
  EXPECT_EQ((*b)[0], 9);
  const int* own = b->data();
  b.Mutable()[1] = 8;  // nobody shares it any more
  EXPECT_EQ(b->data(), own);
}

TEST(Cow, AnEmptyOneReadsAsADefault) {
  const Cow<std::string> empty;
  EXPECT_EQ(*empty, "");
  Cow<std::string> moved = Cow<std::string>("x");
  const Cow<std::string> target = std::move(moved);
  EXPECT_EQ(*target, "x");
}

TEST(Cow, ReleasesItsValue) {
  const auto counted = std::make_shared<int>(1);
  {
    Cow<std::shared_ptr<int>> a(counted);
    Cow<std::shared_ptr<int>> b = a;
    Cow<std::shared_ptr<int>> c = b;
    c.Mutable();
    EXPECT_EQ(counted.use_count(), 3);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

// Random pushes, writes, removals and forks against plain vectors.
TEST(BlockColumn, BehavesAsAVector) {
  Random random(7);
  std::vector<std::pair<BlockColumn<std::string>, std::vector<std::string>>> pairs(1);
  for (int step = 0; step < 4000; ++step) {
    auto& [column, plain] = pairs[random.Below(pairs.size())];
    switch (random.Below(8)) {
      case 0:
        if (pairs.size() < 6) {
          auto copy = pairs[random.Below(pairs.size())];
          pairs.push_back(std::move(copy));
        }
        break;
      case 1:
        if (!plain.empty()) {
          const std::size_t row = random.Below(plain.size());
          column.SwapRemove(row);
          plain[row] = plain.back();
          plain.pop_back();
        }
        break;
      case 2:
      case 3:
        if (!plain.empty()) {
          const std::size_t row = random.Below(plain.size());
          column.Mutable(row) = plain[row] = std::to_string(step);
        }
        break;
      default:
        column.PushBack(std::to_string(step));
        plain.push_back(std::to_string(step));
    }
  }
  for (const auto& [column, plain] : pairs) {
    ASSERT_EQ(column.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(column[i], plain[i]);
  }
}

TEST(CowMap, BehavesAsAMap) {
  Random random(8);
  std::vector<std::pair<CowMap<int>, std::map<std::uint64_t, int>>> pairs(1);
  for (int step = 0; step < 20000; ++step) {
    auto& [map, plain] = pairs[random.Below(pairs.size())];
    const std::uint64_t key = random.Below(500) << (random.Below(2) * 32);
    switch (random.Below(10)) {
      case 0:
        if (pairs.size() < 5 && step % 50 == 0) {
          auto copy = pairs[random.Below(pairs.size())];
          pairs.push_back(std::move(copy));
        }
        break;
      case 1:
      case 2:
      case 3:
        EXPECT_EQ(map.Erase(key), plain.erase(key) == 1);
        break;
      case 4:
        if (int* found = map.FindMutable(key)) *found = plain[key] = -step;
        break;
      default:
        map.Set(key, step);
        plain[key] = step;
    }
  }
  for (const auto& [map, plain] : pairs) {
    ASSERT_EQ(map.size(), plain.size());
    for (std::uint64_t base = 0; base < 500; ++base) {
      for (const std::uint64_t key : {base, base << 32}) {
        const int* found = map.Find(key);
        const auto it = plain.find(key);
        ASSERT_EQ(found != nullptr, it != plain.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, it->second);
        }
      }
    }
  }
}

}  // namespace
}  // namespace schedfw
