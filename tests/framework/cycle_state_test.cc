#include "schedfw/framework/cycle_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace schedfw {
namespace {

struct A {
  int value = 0;
};
struct B {
  std::vector<std::string> values;
};

TEST(CycleState, FindsByType) {
  CycleState state;
  EXPECT_EQ(state.Find<A>(), nullptr);
  state.Emplace<A>(1);
  state.Emplace<B>(std::vector<std::string>{"x"});
  ASSERT_NE(state.Find<A>(), nullptr);
  EXPECT_EQ(state.Find<A>()->value, 1);
  EXPECT_EQ(state.Find<B>()->values.size(), 1u);
  A& again = state.Emplace<A>(2);
  EXPECT_EQ(state.Find<A>(), &again);
  EXPECT_EQ(again.value, 2);
}

TEST(CycleState, ACloneIsIndependent) {
  CycleState state;
  state.Emplace<B>(std::vector<std::string>{"x"});
  CycleState clone = state.Clone();
  clone.Find<B>()->values.push_back("y");
  EXPECT_EQ(state.Find<B>()->values.size(), 1u);
  EXPECT_EQ(clone.Find<B>()->values.size(), 2u);
  state.Clear();
  EXPECT_EQ(state.Find<B>(), nullptr);
  EXPECT_NE(clone.Find<B>(), nullptr);
}

}  // namespace
}  // namespace schedfw
