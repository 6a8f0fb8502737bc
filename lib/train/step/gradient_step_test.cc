#include "lib/train/step/gradient_step.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

template <typename T>
Tensor RandomTensor(int64_t n, int index) {
  RandomStream stream(1, "gradient", index);
  Tensor tensor = Tensor::Zeros(DTypeOf<T>(), {n});
  for (T& value : tensor.mutable_values<T>()) value = static_cast<T>(stream.Normal());
  return tensor;
}

// Lengths are below, at and above a block.
template <typename T>
void CheckCombine(double tolerance) {
  for (const int64_t n : {0, 1, 7, 8, 1023, 1024, 1025, 5000}) {
    for (const std::vector<double>& weight : {std::vector<double>{0.5}, std::vector<double>{0.3, -2, 0.7}}) {
      std::vector<Tensor> gradients;
      for (size_t t = 0; t < weight.size(); ++t) gradients.push_back(RandomTensor<T>(n, t));
      Tensor combined = Tensor::Zeros(DTypeOf<T>(), {n});
      const double norm = CombineGradients(weight, gradients, &combined);
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        double expected = 0;
        for (size_t t = 0; t < weight.size(); ++t) expected += weight[t] * gradients[t].values<T>()[i];
        ASSERT_NEAR(combined.values<T>()[i], expected, tolerance);
        squares += expected * expected;
      }
      EXPECT_NEAR(norm, std::sqrt(squares), tolerance * 10 * (1 + norm));
    }
  }
}

TEST(CombineGradientsTest, IsTheWeightedSumF32) { CheckCombine<float>(1e-6); }
TEST(CombineGradientsTest, IsTheWeightedSumF64) { CheckCombine<double>(1e-14); }

// Combining in place gives the bits of combining into other memory.
TEST(CombineGradientsTest, OneGradientIsCombinedWhereItLies) {
  for (const int64_t n : {0, 1, 1025}) {
    Tensor gradient = RandomTensor<float>(n, 0), combined = Tensor::Zeros(DType::kF32, {n});
    const double norm = CombineGradients({0.3}, {gradient}, &combined);
    EXPECT_EQ(CombineGradients({0.3}, {gradient}, &gradient), norm);
    EXPECT_EQ(gradient.ToDoubles(), combined.ToDoubles());
    EXPECT_EQ(CombineGradients({0}, {gradient}, &gradient), 0);
    EXPECT_THAT(gradient.ToDoubles(), Each(0));
  }
}

TEST(CombineGradientsTest, WeightZeroTakesNoPart) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> gradients = {Tensor::Of<double>({nan, 1}), Tensor::Of<double>({3, 4})};
  Tensor combined = Tensor::Of<double>({7, 7});
  EXPECT_EQ(CombineGradients({0, 1}, gradients, &combined), 5);
  EXPECT_THAT(combined.ToDoubles(), ElementsAre(3, 4));
  EXPECT_EQ(CombineGradients({0, 0}, gradients, &combined), 0);
  EXPECT_THAT(combined.ToDoubles(), ElementsAre(0, 0));
  EXPECT_TRUE(std::isnan(CombineGradients({1, 1}, gradients, &combined)));
}

TEST(ClipGradientTest, ScalesWhatIsTooLong) {
  Tensor gradient = Tensor::Of<double>({3, 4});
  ClipGradient(5, 0, &gradient);
  ClipGradient(5, 5, &gradient);
  EXPECT_THAT(gradient.ToDoubles(), ElementsAre(3, 4));
  ClipGradient(5, 2.5, &gradient);
  EXPECT_THAT(gradient.ToDoubles(), ElementsAre(1.5, 2));
  Tensor single = Tensor::Of<float>({3, 4});
  ClipGradient(5, 2.5, &single);
  EXPECT_THAT(single.ToDoubles(), ElementsAre(1.5, 2));
}

TEST(SetToZeroTest, Zeroes) {
  std::vector<Tensor> tensors = {Tensor::Of<float>({1, 2}), Tensor::Zeros(DType::kF64, {0})};
  SetToZero(absl::MakeSpan(tensors));
  EXPECT_THAT(tensors[0].ToDoubles(), ElementsAre(0, 0));
}

TEST(CombineGradientsDeathTest, RejectsOtherShapes) {
  Tensor combined = Tensor::Zeros(DType::kF64, {2});
  EXPECT_DEATH(CombineGradients({1}, {Tensor::Zeros(DType::kF64, {3})}, &combined), "num_elements");
  EXPECT_DEATH(CombineGradients({1}, {Tensor::Zeros(DType::kF32, {2})}, &combined), "dtype");
}

}  // namespace
}  // namespace rutile
