#include "lib/potential/influence/batch_gradient.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/model/loss_function.h"

namespace rutile {
namespace {

// All labels in one batch: structures without an energy, without forces, of weights 0.25 and 0.
const std::vector<int64_t> kBatch = {2, 3, 4, 5, 6, 7, 8};

LossOptions LossOf(LossKind kind, double force_weight, double stress_weight) {
  LossOptions loss;
  loss.kind = kind;
  loss.energy_weight = 0.7;
  loss.force_weight = force_weight;
  loss.stress_weight = stress_weight;
  loss.energy_delta = loss.force_delta = loss.stress_delta = 0.3;
  return loss;
}

std::vector<LossOptions> Losses() {
  std::vector<LossOptions> losses;
  for (const LossKind kind : {LossKind::kMse, LossKind::kHuber, LossKind::kRmse}) {
    losses.push_back(LossOf(kind, 0, 0));
    losses.push_back(LossOf(kind, 0.2, 0.1));
  }
  return losses;
}

// The loss of the batch and its gradient where the weight of structure k is multiplied by `factor`, by the definition.
Loss Weighted(const LossOptions& loss, const BatchGradient& batch, size_t k, double factor) {
  std::vector<double> weights = {loss.energy_weight};
  if (loss.force_weight > 0) weights.insert(weights.end(), {loss.force_weight, loss.stress_weight});
  TermSums sums(static_cast<int>(weights.size()));
  for (size_t t = 0; t < weights.size(); ++t) {
    for (size_t s = 0; s < batch.terms.size(); ++s) {
      sums.sum[t] += (s == k ? factor : 1) * batch.terms[s].sum[t];
      sums.count[t] += (s == k ? factor : 1) * batch.terms[s].count[t];
    }
  }
  return CombineLossTerms(loss.kind, weights, sums);
}

std::vector<double> WeightedGradient(const LossOptions& loss, const BatchGradient& batch, size_t k, double factor) {
  const Loss at = Weighted(loss, batch, k, factor);
  const size_t size = batch.gradient.size();
  std::vector<double> gradient(size, 0.0);
  for (size_t t = 0; t < at.weight.size(); ++t) {
    for (size_t s = 0; s < batch.terms.size(); ++s) {
      const double weight = at.weight[t] * (s == k ? factor : 1);
      for (size_t p = 0; p < size; ++p) gradient[p] += weight * batch.by_structure[s][t * size + p];
    }
  }
  return gradient;
}

class BatchGradientTest : public ::testing::Test {
 protected:
  const Potential potential_ = AwkwardPotential({4}, Activation::kTanh);
  const AtomicData data_ = AwkwardStructures();
  const std::vector<double> parameters_ = potential_.parameters.ToDoubles();
};

TEST_F(BatchGradientTest, IsTheDerivativeOfTheLoss) {
  for (const LossOptions& loss : Losses()) {
    BatchGradients gradients(potential_, loss, AngularMethod::kMoments, 1);
    BatchGradient batch, moved;
    ASSERT_TRUE(gradients.Compute(data_, kBatch, parameters_, &batch).ok());
    // Along a direction of length 1; the error of the difference is its square, 1e-10, times third derivatives.
    std::vector<double> direction(parameters_.size());
    double length = 0, expected = 0;
    for (size_t p = 0; p < direction.size(); ++p) length += std::pow(direction[p] = std::sin(1.0 + p), 2);
    for (double& each : direction) each /= std::sqrt(length);
    for (size_t p = 0; p < direction.size(); ++p) expected += direction[p] * batch.gradient[p];
    constexpr double kStep = 1e-5;
    double slope = 0;
    for (const double side : {kStep, -kStep}) {
      std::vector<double> at = parameters_;
      for (size_t p = 0; p < at.size(); ++p) at[p] += side * direction[p];
      ASSERT_TRUE(gradients.Compute(data_, kBatch, at, &moved).ok());
      slope += Weighted(loss, moved, 0, 1).value / (2 * side);
    }
    EXPECT_NEAR(expected, slope, 1e-5 * std::abs(slope)) << static_cast<int>(loss.kind) << " " << loss.force_weight;
  }
}

TEST_F(BatchGradientTest, ByWeightsIsTheDerivativeByEachWeight) {
  for (const LossOptions& loss : Losses()) {
    BatchGradients gradients(potential_, loss, AngularMethod::kMoments, 1);
    BatchGradient batch;
    ASSERT_TRUE(gradients.Compute(data_, kBatch, parameters_, &batch).ok());
    EXPECT_LT(RelativeDifference(WeightedGradient(loss, batch, 0, 1), batch.gradient), 1e-13);
    std::vector<double> u(parameters_.size());
    for (size_t p = 0; p < u.size(); ++p) u[p] = std::cos(2.0 * p);
    const std::vector<double> by_weights = gradients.ByWeights(batch, u);
    std::vector<double> expected(kBatch.size(), 0.0);
    constexpr double kStep = 1e-5;
    for (size_t k = 0; k < kBatch.size(); ++k) {
      const std::vector<double> high = WeightedGradient(loss, batch, k, 1 + kStep);
      const std::vector<double> low = WeightedGradient(loss, batch, k, 1 - kStep);
      for (size_t p = 0; p < u.size(); ++p) expected[k] += u[p] * (high[p] - low[p]) / (2 * kStep);
    }
    EXPECT_LT(RelativeDifference(by_weights, expected), 1e-8);  // kStep^2, and rounding over kStep
    EXPECT_EQ(by_weights.back(), 0) << "a structure of weight 0";
  }
}

// A difference of sums at constant slopes, and how slopes change, are the change of the whole gradient, also where the
// errors of a batch are so small that their root bends within the difference.
TEST_F(BatchGradientTest, HessianProductsOfSumsAndSlopes) {
  for (const LossOptions& loss : Losses()) {
    BatchGradients gradients(potential_, loss, AngularMethod::kMoments, 1);
    BatchGradient batch, moved;
    ASSERT_TRUE(gradients.Compute(data_, kBatch, parameters_, &batch).ok());
    const size_t size = parameters_.size();
    std::vector<double> u(size), product(size, 0.0), expected(size, 0.0);
    for (size_t p = 0; p < size; ++p) u[p] = std::cos(2.0 * p);
    constexpr double kStep = 1e-5;
    for (const double side : {kStep, -kStep}) {
      std::vector<double> at = parameters_;
      for (size_t p = 0; p < size; ++p) at[p] += side * u[p];
      ASSERT_TRUE(gradients.ComputeSums(data_, kBatch, at, &moved).ok());
      EXPECT_TRUE(moved.by_structure.empty());
      gradients.AddWithSlopesOf(batch, moved, 1 / (2 * side), product.data());
      for (size_t p = 0; p < size; ++p) expected[p] += moved.gradient[p] / (2 * side);
    }
    gradients.AddChangeOfSlopes(batch, u, product.data());
    EXPECT_LT(RelativeDifference(product, expected), 1e-6) << static_cast<int>(loss.kind) << " " << loss.force_weight;
  }
}

// One structure's energy under the root of a mean: |e|, whose second derivative is that of the energy with a sign.
TEST_F(BatchGradientTest, ALinearModelUnderARootHasNoCurvature) {
  const Potential linear = AwkwardPotential({}, Activation::kLinear);
  const std::vector<double> parameters = linear.parameters.ToDoubles();
  const size_t size = parameters.size();
  BatchGradients gradients(linear, LossOf(LossKind::kRmse, 0, 0), AngularMethod::kMoments, 1);
  BatchGradient batch, moved;
  ASSERT_TRUE(gradients.Compute(data_, {7}, parameters, &batch).ok());
  std::vector<double> u = batch.gradient, product(size, 0.0);
  // Steps of the size of the error itself: a difference of the gradient would be far off.
  double square = 0;
  for (const double each : u) square += each * each;
  const double step = 2 * batch.total.sum[0] / square;
  for (const double side : {step, -step}) {
    std::vector<double> at = parameters;
    for (size_t p = 0; p < size; ++p) at[p] += side * u[p];
    ASSERT_TRUE(gradients.ComputeSums(data_, {7}, at, &moved).ok());
    gradients.AddWithSlopesOf(batch, moved, 1 / (2 * side), product.data());
  }
  double with_sums = 0, left = 0;
  for (const double each : product) with_sums += each * each;
  gradients.AddChangeOfSlopes(batch, u, product.data());
  for (const double each : product) left += each * each;
  EXPECT_GT(with_sums, 0);
  EXPECT_LT(std::sqrt(left), 1e-9 * std::sqrt(with_sums));
}

TEST_F(BatchGradientTest, DoesNotDependOnThreadsNorOnWhatCameBefore) {
  const LossOptions loss = LossOf(LossKind::kMse, 0.2, 0.1);
  BatchGradients one(potential_, loss, AngularMethod::kMoments, 1), two(potential_, loss, AngularMethod::kMoments, 2);
  BatchGradient expected, batch;
  ASSERT_TRUE(one.Compute(data_, kBatch, parameters_, &expected).ok());
  ASSERT_TRUE(two.Compute(data_, {2}, std::vector<double>(parameters_.size(), 0.1), &batch).ok());
  ASSERT_TRUE(two.Compute(data_, kBatch, parameters_, &batch).ok());
  EXPECT_EQ(batch.gradient, expected.gradient);
  // A structure has another gradient at other parameters.
  BatchGradient first, second;
  ASSERT_TRUE(one.Compute(data_, {2}, parameters_, &first).ok());
  ASSERT_TRUE(one.Compute(data_, {2}, std::vector<double>(parameters_.size(), 0.1), &second).ok());
  EXPECT_NE(first.gradient, second.gradient);
  EXPECT_EQ(second.gradient.size(), parameters_.size());
}

}  // namespace
}  // namespace rutile
