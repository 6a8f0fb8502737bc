#include "lib/optimizer/grad_scaler.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

// Computes the scale after each step from torch.cuda.amp.GradScaler's documented rule, implemented a second time.
std::vector<double> ExpectedScales(const std::vector<bool>& finite) {
  std::vector<double> scales;
  double scale = 65536;
  int tracker = 0;
  for (const bool good : finite) {
    tracker = good ? tracker + 1 : 0;
    if (!good) scale *= 0.5;
    if (tracker == 2000) {
      scale *= 2;
      tracker = 0;
    }
    scales.push_back(scale);
  }
  return scales;
}

std::vector<bool> Steps(const std::vector<std::pair<int, bool>>& runs) {
  std::vector<bool> steps;
  for (const auto& [count, good] : runs) steps.insert(steps.end(), count, good);
  return steps;
}

TEST(GradScalerTest, FollowsPyTorchsRule) {
  const std::vector<bool> steps = Steps({{3, false}, {1999, true}, {1, false}, {2000, true}, {1, false}, {4001, true}});
  const std::vector<double> expected = ExpectedScales(steps);
  EXPECT_EQ(expected.back(), 65536.0 / 4);  // halved 5 times, doubled 3 times
  GradScaler scaler;
  EXPECT_EQ(scaler.scale(), 65536);
  for (size_t i = 0; i < steps.size(); ++i) {
    scaler.Update(steps[i]);
    ASSERT_EQ(scaler.scale(), expected[i]) << "after step " << i;
  }
}

TEST(GradScalerTest, NeverLeavesTheRangeOfFp32) {
  GradScaler scaler;
  for (int64_t i = 0; i < 2000 * 200; ++i) scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 0x1p127);
}

TEST(GradScalerTest, IsExhaustedWhenNoScaleHelps) {
  GradScaler scaler;
  int steps = 0;
  for (; !scaler.exhausted(); ++steps) scaler.Update(false);
  EXPECT_EQ(steps, 32);
}

TEST(GradScalerTest, GoesOnFromItsState) {
  GradScaler one;
  for (int i = 0; i < 1500; ++i) one.Update(i != 700);
  GradScaler other;
  ASSERT_TRUE(other.SetState(one.State()).ok());
  for (int i = 0; i < 1500; ++i) {
    one.Update(true);
    other.Update(true);
    ASSERT_EQ(one.scale(), other.scale());
  }
  EXPECT_EQ(one.scale(), 65536);  // halved, then doubled
}

TEST(GradScalerTest, RefusesAStateThatNoRunHas) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& values : {std::vector<double>{0, 0}, {nan, 0}, {65536, -1}, {65536, 2000}, {1}}) {
    NamedTensors state;
    state.Set("grad_scaler", Tensor::Of(values));
    EXPECT_FALSE(GradScaler().SetState(state).ok()) << values[0];
  }
  EXPECT_FALSE(GradScaler().SetState(NamedTensors()).ok());
}

}  // namespace
}  // namespace rutile
