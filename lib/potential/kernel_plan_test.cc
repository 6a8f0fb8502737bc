#include "lib/potential/kernel_plan.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(KernelPlanTest, TextGivesThePlanBack) {
  EXPECT_EQ(KernelPlanText({}), "block_atoms=128 gradients=by_width");
  for (const int atoms : {1, 64, 128}) {
    for (const GradientForm form : {GradientForm::kByWidth, GradientForm::kLanes, GradientForm::kTurned}) {
      const KernelPlan plan = {atoms, form};
      const auto parsed = ParseKernelPlan(KernelPlanText(plan));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_TRUE(*parsed == plan);
    }
  }
}

TEST(KernelPlanTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "block_atoms=64", "block_atoms=0 gradients=lanes", "block_atoms=129 gradients=lanes",
        "block_atoms=064 gradients=lanes", "block_atoms=64 gradients=rows", "block_atoms=64 gradients=lanes ",
        "block_atoms=9999999999999 gradients=lanes", "gradients=lanes block_atoms=64"}) {
    EXPECT_FALSE(ParseKernelPlan(text).ok()) << text;
  }
  EXPECT_NE(ParseKernelPlan("x").status().message().find("expected block_atoms=1 .. 128"), std::string::npos);
}

TEST(KernelPlanTest, StateGivesThePlanBack) {
  NamedTensors state;
  EXPECT_FALSE(KernelPlanOfState(state).ok());
  const KernelPlan plan = {32, GradientForm::kTurned};
  SetKernelPlanState(plan, &state);
  EXPECT_TRUE(*KernelPlanOfState(state) == plan);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{32}, {0, 1}, {129, 1}, {32, 3}, {32, -1}}) {
    state.Set("kernel_plan", Tensor::Of(wrong));
    EXPECT_FALSE(KernelPlanOfState(state).ok());
  }
  state.Set("kernel_plan", Tensor::Of<double>({32, 1}));
  EXPECT_FALSE(KernelPlanOfState(state).ok());
}

}  // namespace
}  // namespace rutile
