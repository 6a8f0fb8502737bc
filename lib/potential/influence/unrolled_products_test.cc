#include "lib/potential/influence/unrolled_products.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/influence/batch_gradient.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/model/loss_function.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using Doubles = std::vector<double>;

constexpr int64_t kTests[] = {2, 6};  // structures whose energy is asked about

LossOptions LossOf(LossKind kind, double force_weight) {
  LossOptions loss;
  loss.kind = kind;
  loss.energy_weight = 0.7;
  loss.force_weight = force_weight;
  loss.stress_weight = 0;
  return loss;
}

UnrolledAdam MakeAdam(double keep, double l2, int count, bool amsgrad = false) {
  UnrolledAdam step;
  step.amsgrad = amsgrad;
  step.keep = keep;
  step.l2 = l2;
  step.beta1 = 0.8;
  step.beta2 = 0.9;
  step.epsilon = 1e-3;
  step.step_size = 0.02 / (1 - std::pow(step.beta1, count));
  step.root_correction2 = std::sqrt(1 - std::pow(step.beta2, count));
  return step;
}

SgdStep MakeSgd(int count) {
  SgdStep step;
  step.l2 = 0.01;
  step.momentum = 0.8;
  step.gain = count == 1 ? 1 : 0.9;
  step.nesterov = true;
  step.learning_rate = 0.02;
  return step;
}

// A run as a whole, with everything that decides its steps.
struct Case {
  std::string name;
  LossOptions loss;
  int optimizer = 0;  // adam, adamw, sgd, adam with amsgrad
  GradientClipping clipping;
  bool averages = false;
  std::vector<int64_t> known = {0, 1, 2, 3, 4, 5};
};

std::vector<UnrolledStep> StepsOf(const Case& of) {
  const std::vector<std::vector<int64_t>> batches = {{2, 3, 4}, {7, 6}, {1, 9, 2}, {4, 3, 8}, {7, 2, 5}};
  std::vector<UnrolledStep> steps;
  for (const std::vector<int64_t>& batch : batches) {
    const int count = static_cast<int>(steps.size()) + 1;
    UnrolledStep step;
    step.examples = batch;
    if (of.optimizer == 2) {
      step.update = MakeSgd(count);
    } else {
      step.update = of.optimizer == 1 ? MakeAdam(0.98, 0, count) : MakeAdam(1, 0.01, count, of.optimizer == 3);
    }
    step.clipping = of.clipping;
    if (of.averages) step.average_share = Doubles{0, 1, 0, 0.3, 0.4}[count - 1];  // begins after the second step
    step.name = "run/step-" + std::to_string(count);
    steps.push_back(std::move(step));
  }
  return steps;
}

class UnrolledProductsTest : public ::testing::Test {
 protected:
  // The gradient of a batch in which structure `s` weighs `factor` times as much, by the definition of the loss.
  Doubles WeightedGradient(const LossOptions& loss, const UnrolledStep& step, const Doubles& parameters, int64_t s,
                           double factor) {
    BatchGradients gradients(potential_, loss, AngularMethod::kMoments, 1);
    BatchGradient batch;
    EXPECT_TRUE(gradients.Compute(data_, step.examples, parameters, &batch).ok());
    Doubles weights = {loss.energy_weight};
    if (loss.force_weight > 0) weights.push_back(loss.force_weight);
    TermSums sums(static_cast<int>(weights.size()));
    const auto weight = [&](size_t k) { return step.examples[k] == s ? factor : 1; };
    for (size_t t = 0; t < weights.size(); ++t) {
      for (size_t k = 0; k < step.examples.size(); ++k) {
        sums.sum[t] += weight(k) * batch.terms[k].sum[t];
        sums.count[t] += weight(k) * batch.terms[k].count[t];
      }
    }
    const Loss at = CombineLossTerms(loss.kind, weights, sums);
    Doubles gradient(parameters.size(), 0.0);
    for (size_t t = 0; t < weights.size(); ++t) {
      for (size_t k = 0; k < step.examples.size(); ++k) {
        for (size_t p = 0; p < gradient.size(); ++p) {
          gradient[p] += at.weight[t] * weight(k) * batch.by_structure[k][t * gradient.size() + p];
        }
      }
    }
    return gradient;
  }

  // The states before, between and after all steps of training in which structure `s` weighs `factor` times as much.
  std::vector<OptimizerState> Train(const Case& of, int64_t s, double factor) {
    const std::vector<UnrolledStep> steps = StepsOf(of);
    OptimizerState state = ZeroState(steps[0].update, potential_.parameters.num_elements());
    state.parameters = potential_.parameters.ToDoubles();
    std::vector<OptimizerState> states = {state};
    for (const UnrolledStep& step : steps) {
      const Doubles gradient = WeightedGradient(of.loss, step, state.parameters, s, factor);
      TakeStep(step.update, Clipped(step.clipping, gradient), &state);
      MoveAverage(step.average_share, &state);
      states.push_back(state);
    }
    return states;
  }

  static const Doubles& Model(const Case& of, const OptimizerState& end) {
    return of.averages ? end.average : end.parameters;
  }

  absl::StatusOr<std::unique_ptr<GradientProducts>> Make(const Case& of, std::vector<OptimizerState> states) {
    PotentialProductsOptions options;
    options.loss = of.loss;
    options.test.quantity = PotentialQuantity::kEnergy;
    options.precision = DType::kF64;
    WeightedCheckpoint point;
    point.parameters = TensorOfDoubles(DType::kF64, Model(of, states.back()));
    point.preconditioner = Tensor::Zeros(DType::kF64, {0});
    UnrolledRun run;
    run.steps = StepsOf(of);
    run.known = of.known;
    run.of_average = of.averages;
    run.tolerance = 1e-9;
    run.rounding = 1e-15;
    run.state = [states = std::move(states)](int64_t done) -> absl::StatusOr<OptimizerState> { return states[done]; };
    return MakeUnrolledProducts(potential_, data_, data_, point, std::move(run), options);
  }

  // How much the energies of kTests change by the weight of structure s, by training with other weights.
  Doubles ByTraining(const Case& of, int64_t s) {
    constexpr double kStep = 1e-4;  // its square is left to higher orders
    const Doubles high = Model(of, Train(of, s, 1 + kStep).back()), low = Model(of, Train(of, s, 1 - kStep).back());
    Potential end = potential_;
    end.parameters = TensorOfDoubles(DType::kF64, Model(of, Train(of, s, 1).back()));
    const GradientFormulas formulas(end, of.loss, TermWeights(), AngularMethod::kMoments);
    GradientRows rows(formulas);
    Doubles slopes, gradient(high.size());
    for (const int64_t test : kTests) {
      EXPECT_TRUE(rows.Compute(data_, {test, PotentialQuantity::kEnergy}, absl::MakeSpan(gradient)).ok());
      double slope = 0;
      for (size_t p = 0; p < gradient.size(); ++p) slope += gradient[p] * (high[p] - low[p]) / (2 * kStep);
      slopes.push_back(slope);
    }
    return slopes;
  }

  const Potential potential_ = AwkwardPotential({3}, Activation::kTanh);
  const AtomicData data_ = AwkwardStructures();
};

std::vector<Case> Cases() {
  const LossOptions mse = LossOf(LossKind::kMse, 0), both = LossOf(LossKind::kMse, 0.2),
                    roots = LossOf(LossKind::kRmse, 0.2);
  return {{"adam", mse, 0, {}},
          {"adamw, forces", both, 1, {}},
          {"sgd, roots", roots, 2, {}},
          {"by norm", both, 2, {1, 0}},
          {"all by norm", mse, 0, {1e-3, 0}},
          {"by value", both, 0, {0, 0.1}},
          {"average", mse, 0, {}, true},
          {"far between", both, 1, {}, false, {0, 2, 5}},
          {"amsgrad", both, 3, {}},
          {"amsgrad, from the start", mse, 3, {}, false, {0, 5}},
          {"from the start", roots, 0, {1, 0}, true, {0, 5}}};
}

TEST_F(UnrolledProductsTest, EqualTrainingWithOtherWeights) {
  for (const Case& of : Cases()) {
    const auto products = Make(of, Train(of, -1, 1));
    ASSERT_TRUE(products.ok()) << of.name << products.status();
    if (of.clipping.norm > 0 || of.clipping.value > 0) {
      Case whole = of;
      whole.clipping = {};
      EXPECT_NE(Train(of, -1, 1).back().parameters, Train(whole, -1, 1).back().parameters) << "nothing was clipped";
    }
    ASSERT_TRUE((*products)->SetTests({kTests[0], kTests[1]}).ok()) << of.name;
    const std::vector<int64_t> structures = {0, 2, 3, 4, 7, 8, 9};  // one in no batch, of weights 1, 0.25 and 0
    ProductTile tile;
    ASSERT_TRUE((*products)->Products(structures, /*squares=*/false, &tile).ok());
    Doubles expected;
    for (const int64_t s : structures) {
      for (const double slope : ByTraining(of, s)) expected.push_back(-slope);
    }
    EXPECT_LT(RelativeDifference(tile.product, expected), 1e-6) << of.name;
    EXPECT_EQ(tile.product[0], 0) << "no batch has the structure";
  }
}

// The states between are the same numbers, whether they are read or made again.
TEST_F(UnrolledProductsTest, DoesNotDependOnWhichStatesAreKnown) {
  Case of = {"", LossOf(LossKind::kHuber, 0.2), 1, {1, 0}, true};
  const std::vector<OptimizerState> states = Train(of, -1, 1);
  std::vector<Doubles> scores;
  for (const std::vector<int64_t>& known : {of.known, {0, 5}, {0, 3, 4, 5}}) {
    of.known = known;
    const auto products = Make(of, states);
    ASSERT_TRUE((*products)->SetTests({kTests[0]}).ok());
    ProductTile tile;
    ASSERT_TRUE((*products)->Products({1, 2, 3, 4, 5, 6, 7}, /*squares=*/false, &tile).ok());
    scores.push_back(tile.product);
  }
  // The test sums a weighted gradient in another order than a batch does.
  EXPECT_LT(RelativeDifference(scores[1], scores[0]), 1e-10);
  EXPECT_LT(RelativeDifference(scores[2], scores[0]), 1e-10);
}

TEST_F(UnrolledProductsTest, StepsThatAreNotThoseOfTheRunAreErrors) {
  const auto error_of = [&](const Case& of, int64_t changed, Doubles OptimizerState::*member) {
    std::vector<OptimizerState> states = Train(of, -1, 1);
    (states[changed].*member)[2] += 1e-3;
    return (*Make(of, states))->SetTests({kTests[0]});
  };
  const Case each = {"", LossOf(LossKind::kMse, 0), 0, {}, true};
  Case sparse = each;
  sparse.known = {0, 3, 5};
  EXPECT_THAT(error_of(each, 3, &OptimizerState::parameters),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"run/step-4", "its step"}));
  EXPECT_THAT(error_of(each, 5, &OptimizerState::m),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"run/step-5", "its step"}));
  EXPECT_THAT(error_of(each, 5, &OptimizerState::average),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"run/step-5", "its step"}));
  EXPECT_THAT(error_of(sparse, 3, &OptimizerState::parameters),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"run/step-5", "2 steps", "--keep_every_steps"}));
  // A state that is not known is not asked for.
  EXPECT_EQ(error_of(sparse, 4, &OptimizerState::parameters), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
