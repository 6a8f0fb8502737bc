#include "lib/potential/influence/curvature/leave_one_out.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/cholesky.h"
#include "lib/potential/influence/curvature/make_curvature.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/influence/output_rows.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

PotentialProductsOptions Options(LossKind kind) {
  PotentialProductsOptions options;
  options.loss.kind = kind;
  options.loss.force_weight = options.loss.stress_weight = 0.5;
  options.loss.energy_delta = 0.2;
  options.loss.force_delta = 0.5;
  options.loss.stress_delta = 0.05;
  options.precision = DType::kF64;
  options.gauss_newton.emplace();
  options.gauss_newton->examples = AllAwkward();
  return options;
}

// Returns the gradient of the mean loss of some structures, plus damping times (parameters - start).
std::vector<double> Gradient(const Potential& potential, const AtomicData& data, const LossOptions& loss,
                             const std::vector<double>& weights, int64_t left_out) {
  const int64_t p = potential.shape.num_parameters();
  const GradientFormulas formulas(potential, loss, {weights[0], weights[1], weights[2]}, AngularMethod::kMoments);
  GradientRows rows(formulas);
  std::vector<double> sum(p, 0.0), row(p);
  for (const int64_t s : AllAwkward()) {
    if (s == left_out) continue;
    EXPECT_TRUE(rows.Compute(data, {s}, absl::MakeSpan(row)).ok());
    for (int64_t k = 0; k < p; ++k) sum[k] += row[k] / kNumAwkward;
  }
  return sum;
}

// A linear model trained to the minimum of loss + D |parameters - start|^2 / 2 and trained again without each
// structure: its errors there are those of the closed form.
TEST(LeaveOneOutTest, OfALinearModelIsRetraining) {
  const AtomicData data = AwkwardStructures();
  const std::vector<double> weights = {0.3, 0.7, 2};
  const LossOptions loss = Options(LossKind::kMse).loss;
  Potential potential = AwkwardPotential({}, Activation::kLinear);
  const int64_t p = potential.shape.num_parameters();
  const double damping = 1e-3;
  const std::vector<double> start = potential.parameters.ToDoubles();
  // Minimizes by one Newton step, with the Hessian from differences of gradients, which are exact.
  const auto minimize = [&](int64_t left_out) {
    Potential at = potential;
    at.parameters = Tensor::Of(start);
    const std::vector<double> base = Gradient(at, data, loss, weights, left_out);
    std::vector<double> hessian(p * p), step = base;
    for (int64_t b = 0; b < p; ++b) {
      std::vector<double> moved = start;
      moved[b] += 1;
      at.parameters = Tensor::Of(moved);
      const std::vector<double> there = Gradient(at, data, loss, weights, left_out);
      for (int64_t a = 0; a < p; ++a) hessian[a * p + b] = there[a] - base[a] + (a == b ? damping : 0);
    }
    EXPECT_TRUE(FactorCholesky(p, hessian.data()));
    SolveLower(p, hessian.data(), p, 1, step.data());
    SolveLowerTransposed(p, hessian.data(), p, 1, step.data());
    std::vector<double> found = start;
    for (int64_t k = 0; k < p; ++k) found[k] -= step[k];
    at.parameters = Tensor::Of(found);
    return at;
  };
  const Potential trained = minimize(-1);
  PotentialProductsOptions options = Options(LossKind::kMse);
  options.gauss_newton->damping.assign(p, damping);
  WeightedCheckpoint point;
  point.parameters = trained.parameters;
  point.loss_weight = weights;
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  const auto found = ComputeLeaveOneOut(trained, data, point, {{0, p}}, options);
  ASSERT_TRUE(found.ok()) << found.status();
  double leverages = 0, sum = 0;
  // Returns the outputs of all structures, one structure after another.
  const auto outputs_of = [&](const Potential& at) {
    const GradientFormulas formulas(at, loss, {weights[0], weights[1], weights[2]}, AngularMethod::kMoments);
    OutputRows rows(formulas, {{0, p}});
    std::vector<StructureOutput> all, outputs;
    StructureTerms terms;
    for (const int64_t s : AllAwkward()) {
      EXPECT_TRUE(rows.Predict(data, s, &outputs, &terms).ok());
      all.insert(all.end(), outputs.begin(), outputs.end());
    }
    return all;
  };
  ThreadPool pool(1);
  const GradientFormulas formulas(trained, loss, {weights[0], weights[1], weights[2]}, AngularMethod::kMoments);
  const auto matrix = GaussNewton::Make(formulas, data, {{0, p}}, *options.gauss_newton, &pool);
  ASSERT_TRUE(matrix.ok());
  const std::vector<StructureOutput> all = outputs_of(trained);
  const double decided = (*matrix)->effective_parameters();
  double squares = 0, cooks = 0;
  for (const StructureOutput& output : all) squares += output.curvature * output.error * output.error;
  const double noise = squares / (static_cast<double>(all.size()) - decided);
  for (const LeftOut& each : found->structures) {
    leverages += each.leverage;
    const Potential without = minimize(each.structure);
    const std::vector<StructureOutput> all_without = outputs_of(without);
    double change = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      change += all[k].curvature * std::pow(all_without[k].error - all[k].error, 2);
    }
    EXPECT_NEAR(each.cook, change / decided / noise, 1e-8 * (1 + each.cook)) << each.structure;
    cooks += each.cook;
    const GradientFormulas formulas(without, loss, {weights[0], weights[1], weights[2]}, AngularMethod::kMoments);
    OutputRows rows(formulas, {{0, p}});
    std::vector<StructureOutput> outputs;
    StructureTerms terms;
    ASSERT_TRUE(rows.Predict(data, each.structure, &outputs, &terms).ok());
    double force = 0, count = 0;
    for (const StructureOutput& output : outputs) {
      if (output.term == 0) {
        EXPECT_NEAR(each.without.energy, output.error, 1e-9 * (1 + std::abs(output.error))) << each.structure;
        sum += std::abs(each.without.energy - each.with.energy);
      }
      if (output.term == 1) {
        force += output.error * output.error;
        ++count;
      }
    }
    if (count > 0) {
      EXPECT_NEAR(each.without.force, std::sqrt(force / count), 1e-9) << each.structure;
    }
    EXPECT_EQ(std::isnan(each.without.energy), outputs.empty() || outputs[0].term != 0);
  }
  EXPECT_GT(sum, 0.01) << "leaving out changes something";
  EXPECT_GT(cooks, 0.01);
  EXPECT_NEAR(leverages, decided, 1e-8);
}

// Leverages add up to the parameters that the data decide, also where other computations would take probes.
TEST(LeaveOneOutTest, ProbesAreNotTaken) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  PotentialProductsOptions options = Options(LossKind::kMse);
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = {0.3, 0.7, 2};
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  const std::vector<ColumnRange> columns = {{0, potential.shape.num_parameters()}};
  const auto exact = ComputeLeaveOneOut(potential, data, point, columns, options);
  options.gauss_newton->probes = 1;
  const auto found = ComputeLeaveOneOut(potential, data, point, columns, options);
  ASSERT_TRUE(exact.ok() && found.ok()) << exact.status();
  for (size_t s = 0; s < exact->structures.size(); ++s) {
    EXPECT_EQ(exact->structures[s].leverage, found->structures[s].leverage);
  }
}

// Self-influence is that of the products, without their coupling.
TEST(LeaveOneOutTest, SelfInfluence) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  const PotentialProductsOptions options = Options(LossKind::kMse);
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = {0.3, 0.7, 2};
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  const int64_t p = potential.shape.num_parameters();
  const auto found = ComputeLeaveOneOut(potential, data, point, {{0, p}}, options);
  ASSERT_TRUE(found.ok()) << found.status();
  ThreadPool pool(1);
  const GradientFormulas formulas(potential, options.loss, {0.3, 0.7, 2}, AngularMethod::kMoments);
  const auto matrix = GaussNewton::Make(formulas, data, {{0, p}}, *options.gauss_newton, &pool);
  ASSERT_TRUE(matrix.ok());
  GradientRows rows(formulas);
  for (const LeftOut& each : found->structures) {
    std::vector<double> row(p);
    ASSERT_TRUE(rows.Compute(data, {each.structure}, absl::MakeSpan(row)).ok());
    std::vector<double> solved = row;
    (*matrix)->Solve(1, solved.data(), nullptr);
    const double expected = std::inner_product(row.begin(), row.end(), solved.begin(), 0.0);
    EXPECT_NEAR(each.self_influence, expected, 1e-9 * expected + 1e-15) << each.structure;
  }
}

TEST(LeaveOneOutTest, BlocksOfTheMatrixAreRefused) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  PotentialProductsOptions options = Options(LossKind::kMse);
  options.gauss_newton->ek_fac = true;
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = {0.3, 0.7, 2};
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  const std::vector<ColumnRange> all = {{0, potential.shape.num_parameters()}};
  EXPECT_THAT(ComputeLeaveOneOut(potential, data, point, all, options).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"leave-one-out", "EK-FAC", "whole"}));
  EXPECT_THAT(MakeCurvature(potential, data, data, {}, point, all, options).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"curvature file", "EK-FAC", "whole"}));
}

TEST(LeaveOneOutTest, ThreadsAndHuber) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  PotentialProductsOptions options = Options(LossKind::kHuber);
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = {0.3, 0.7, 2};
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  const auto one = ComputeLeaveOneOut(potential, data, point, {{0, potential.shape.num_parameters()}}, options);
  options.num_threads = 2;
  const auto two = ComputeLeaveOneOut(potential, data, point, {{0, potential.shape.num_parameters()}}, options);
  ASSERT_TRUE(one.ok() && two.ok()) << one.status();
  for (size_t s = 0; s < one->structures.size(); ++s) {
    EXPECT_EQ(one->structures[s].leverage, two->structures[s].leverage);
    EXPECT_EQ(one->structures[s].cook, two->structures[s].cook);
    EXPECT_GE(one->structures[s].leverage, 0);
  }
}

}  // namespace
}  // namespace rutile
