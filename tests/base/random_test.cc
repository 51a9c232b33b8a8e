#include "schedfw/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace schedfw {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Random, GivesTheDocumentedStream) {
  // Computed by a separate program that gives the generators' published test vectors.
  const struct {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> stream;
  } rows[] = {
      {0,
       {11091344671253066420U, 13793997310169335082U, 1900383378846508768U, 7684712102626143532U}},
      {1,
       {12966619160104079557U, 9600361134598540522U, 10590380919521690900U, 7218738570589545383U}},
      {42,
       {1546998764402558742U, 6990951692964543102U, 12544586762248559009U, 17057574109182124193U}},
      {kMax,
       {10328197420357168392U, 14156678507024973869U, 9357971779955476126U, 13791585006304312367U}},
  };
  for (const auto& row : rows) {
    Random random(row.seed);
    for (const std::uint64_t expected : row.stream) EXPECT_EQ(random.Next(), expected);
  }
  Random random(42);
  for (int i = 0; i < 999; ++i) random.Next();
  EXPECT_EQ(random.Next(), 10224724267483498856U);
}

TEST(Random, GivesTheSameStreamAtCompileTime) {
  constexpr std::uint64_t kFirst = Random(42).Next();
  EXPECT_EQ(kFirst, 1546998764402558742U);
}

TEST(Random, EqualSeedsGiveEqualStreams) {
  Random a(7);
  Random b(7);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a(), b.Next());
  EXPECT_EQ(a.Below(1000), b.Below(1000));
  EXPECT_EQ(a.Uniform(), b.Uniform());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, Random(8));
  Random copy = a;
  EXPECT_EQ(copy.Next(), a.Next());
}

TEST(Random, BelowStaysInRange) {
  Random random(42);
  const std::vector<std::uint64_t> expected = {2, 2, 9, 3, 6, 4, 4, 7, 8, 5, 9, 3};
  for (const std::uint64_t number : expected) EXPECT_EQ(random.Below(10), number);
  EXPECT_EQ(random.Below(0), 0U);
  EXPECT_EQ(random.Below(1), 0U);
  for (const std::uint64_t n : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 63,
                                (std::uint64_t{1} << 63) + 1, kMax}) {
    for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(n), n);
  }
}

TEST(Random, BelowIsEven) {
  // A bound of 3 * 2^62 shows a bias that small bounds hide: remainders alone would give the lower
  // third half of the draws.
  Random random(3);
  constexpr int kDraws = 60'000;
  const std::uint64_t third = std::uint64_t{1} << 62;
  std::array<int, 3> thirds{};
  std::array<int, 6> dice{};
  for (int i = 0; i < kDraws; ++i) {
    ++thirds[random.Below(3 * third) / third];
    ++dice[random.Below(6)];
  }
  // Six standard deviations at most.
  for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 700);
  for (const int count : dice) EXPECT_NEAR(count, kDraws / 6, 550);
}

TEST(Random, UniformFillsTheUnitInterval) {
  Random random(42);
  EXPECT_EQ(random.Uniform(), 0.08386297105988216);
  EXPECT_EQ(random.Uniform(), 0.3789802506626686);
  EXPECT_EQ(random.Uniform(), 0.6800434110281394);
  double sum = 0;
  double low = 1;
  double high = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);
  EXPECT_LT(low, 0.001);
  EXPECT_GT(high, 0.999);
}

TEST(Random, DrivesStandardAlgorithms) {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  Random random(1);
  std::shuffle(numbers.begin(), numbers.end(), random);
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), 100U);
  EXPECT_EQ(Random::min(), 0U);
  EXPECT_EQ(Random::max(), kMax);
}

}  // namespace
}  // namespace schedfw
