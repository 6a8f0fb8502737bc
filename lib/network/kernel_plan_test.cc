#include "lib/network/kernel_plan.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(KernelPlanTest, TextGivesThePlanBack) {
  EXPECT_EQ(KernelPlanText({}), "block_atoms=128 gradients=by_width");
  for (const int atoms : {1, 64, 128}) {
    for (const GradientForm form : {GradientForm::kAuto, GradientForm::kLanes, GradientForm::kTransposed}) {
      for (const NetworkAlgorithm network :
           {NetworkAlgorithm::kAuto, NetworkAlgorithm::kFused, NetworkAlgorithm::kGemm}) {
        const KernelPlan plan = {atoms, form, network};
        const auto parsed = ParseKernelPlan(KernelPlanText(plan));
        ASSERT_TRUE(parsed.ok()) << parsed.status();
        EXPECT_TRUE(*parsed == plan);
      }
    }
  }
  const KernelPlan wide = {512, GradientForm::kAuto, NetworkAlgorithm::kGemm};
  EXPECT_EQ(KernelPlanText(wide), "block_atoms=512 gradients=by_width algorithm=gemm");
  EXPECT_TRUE(*ParseKernelPlan(KernelPlanText(wide)) == wide);
  // Texts that were written before plans had an algorithm are read, and those with the older words.
  EXPECT_TRUE(ParseKernelPlan("block_atoms=64 gradients=transposed")->algorithm == NetworkAlgorithm::kAuto);
  EXPECT_TRUE(*ParseKernelPlan("block_atoms=512 gradients=by_width form=matrices") == wide);
  EXPECT_TRUE(*ParseKernelPlan("block_atoms=64 gradients=turned form=blocks") ==
              KernelPlan({64, GradientForm::kTransposed, NetworkAlgorithm::kFused}));
}

TEST(KernelPlanTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "block_atoms=64", "block_atoms=0 gradients=lanes", "block_atoms=129 gradients=lanes",
        "block_atoms=064 gradients=lanes", "block_atoms=64 gradients=rows", "block_atoms=64 gradients=lanes ",
        "block_atoms=9999999999999 gradients=lanes", "gradients=lanes block_atoms=64",
        "block_atoms=64 gradients=lanes form=tiles", "block_atoms=64 gradients=lanes form=by_width",
        "block_atoms=513 gradients=lanes algorithm=gemm", "block_atoms=129 gradients=lanes algorithm=fused",
        "block_atoms=64 algorithm=fused"}) {
    EXPECT_FALSE(ParseKernelPlan(text).ok()) << text;
  }
  EXPECT_NE(ParseKernelPlan("x").status().message().find("expected block_atoms=1 .. 128"), std::string::npos);
}

TEST(KernelPlanTest, StateGivesThePlanBack) {
  NamedTensors state;
  EXPECT_FALSE(KernelPlanOfState(state).ok());
  for (const KernelPlan& plan :
       {KernelPlan{32, GradientForm::kTransposed}, KernelPlan{512, GradientForm::kAuto, NetworkAlgorithm::kGemm}}) {
    SetKernelPlanState(plan, &state);
    EXPECT_TRUE(*KernelPlanOfState(state) == plan);
  }
  // A checkpoint that was written before plans had an algorithm resumes with the same bits.
  state.Set("kernel_plan", Tensor::Of<int64_t>({32, 2}));
  EXPECT_TRUE((*KernelPlanOfState(state) == KernelPlan{32, GradientForm::kTransposed, NetworkAlgorithm::kFused}));
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{32},
                                            {0, 1},
                                            {129, 1},
                                            {32, 3},
                                            {32, -1},
                                            {32, 1, 3},
                                            {32, 1, -1},
                                            {513, 1, 2},
                                            {129, 1, 1},
                                            {int64_t{1} << 33, 1, 1},
                                            {32, 1, 1, 1}}) {
    state.Set("kernel_plan", Tensor::Of(wrong));
    EXPECT_FALSE(KernelPlanOfState(state).ok());
  }
  state.Set("kernel_plan", Tensor::Of<double>({32, 1}));
  EXPECT_FALSE(KernelPlanOfState(state).ok());
}

}  // namespace
}  // namespace rutile
