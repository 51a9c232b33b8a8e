#include "schedfw/base/log.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace schedfw {
namespace {

// Values of Go 1.26's math.Log on amd64.
TEST(Log, EqualsGoToTheLastBit) {
  struct Row {
    int x;
    std::uint64_t bits;
  };
  constexpr Row kRows[] = {
      {2, 0x3fe62e42fefa39ef},     {3, 0x3ff193ea7aad030a},      {5, 0x3ff9c041f7ed8d33},
      {7, 0x3fff2272ae325a57},     {10, 0x40026bb1bbb55516},     {11, 0x40032ee3b77f374c},
      {34, 0x400c35fc81b90df6},    {66, 0x4010c234da4a23a6},     {130, 0x4013785af37370b3},
      {514, 0x4018f809602dd74f},   {1000, 0x401ba18a998fffa0},   {5002, 0x40210901f6dc84b9},
      {20002, 0x4023cea306eb7be0}, {123456, 0x40277280f4671181},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(Log(row.x)), row.bits) << row.x;
  }
}

// An FNV-1a hash over Go's values for every whole number from 2 to 2,000,000: more domains than any
// cluster has.
TEST(Log, EqualsGoForEveryNumberOfDomains) {
  std::uint64_t hash = 14695981039346656037u;
  for (int i = 2; i <= 2000000; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(Log(i));
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= bits >> (8 * byte) & 0xff;
      hash *= 1099511628211u;
    }
  }
  EXPECT_EQ(hash, 17259885838132375516u);
}

}  // namespace
}  // namespace schedfw
