// Compares both references with the golden training run, step by step.

#include "lib/potential/training/reference/reference_step.h"

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/training/force_batch_testing.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

ReferenceModel ModelOf(const GoldenTraining& golden) {
  const int species = static_cast<int>(golden.descriptor.species.size());
  const int features = golden.descriptor.num_features();
  ReferenceModel model{golden.descriptor,
                       {species, features, golden.initial_networks.hidden, Activation::kTanh},
                       {species, features, {}, {}},
                       {golden.energy_scaling, golden.energy_shift}};
  for (int s = 0; s < species; ++s) {
    for (int f = 0; f < features; ++f) {
      model.feature_scaling.mean.push_back(golden.feature_mean[f]);
      model.feature_scaling.scale.push_back(1 / golden.feature_deviation[f]);
    }
  }
  return model;
}

NamedTensors BatchOf(const GoldenTraining& golden, const std::vector<int64_t>& indices) {
  std::vector<Structure> structures;
  for (const int64_t s : indices) structures.push_back(golden.structures[s]);
  return MakeForceBatch(structures, golden.descriptor, {golden.atomic_energies, {}, 0});
}

class GoldenTrainingTest : public testing::TestWithParam<std::tuple<int, ReferenceMethod>> {};

TEST_P(GoldenTrainingTest, EveryStep) {
  const GoldenTraining golden = ReadGoldenTraining();
  const GoldenTraining::Run& run = golden.runs[std::get<0>(GetParam())];
  const ReferenceModel model = ModelOf(golden);
  std::vector<double> parameters = golden.initial_networks.parameters;
  std::vector<double> first(parameters.size()), second(parameters.size());
  int n = 0;
  for (const GoldenTraining::Step& expected : run.steps) {
    SCOPED_TRACE(n);
    const ReferenceStep step = ComputeReferenceStep(model, parameters, BatchOf(golden, expected.batch),
                                                    run.force_weight, std::get<1>(GetParam()));
    EXPECT_NEAR(step.energy_rmse, expected.energy_rmse, 1e-9);
    EXPECT_NEAR(step.force_rmse, expected.force_rmse, 1e-9);
    EXPECT_NEAR(step.loss, expected.loss, 1e-9);
    EXPECT_NEAR(step.gradient_norm, expected.gradient_norm, 1e-9);
    ++n;
    for (size_t p = 0; p < parameters.size(); ++p) {  // Adam
      first[p] += (1 - golden.beta1) * (step.gradient[p] - first[p]);
      second[p] += (1 - golden.beta2) * (step.gradient[p] * step.gradient[p] - second[p]);
      const double m = first[p] / (1 - std::pow(golden.beta1, n)), v = second[p] / (1 - std::pow(golden.beta2, n));
      parameters[p] -= golden.learning_rate * m / (std::sqrt(v) + golden.epsilon);
    }
  }
  EXPECT_EQ(n, 8);
  for (size_t p = 0; p < parameters.size(); ++p) {
    EXPECT_NEAR(parameters[p], run.final_networks.parameters[p], 1e-8) << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenTrainingTest,
                         testing::Combine(testing::Values(0, 1),
                                          testing::Values(ReferenceMethod::kDerivatives, ReferenceMethod::kAutograd)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == 0 ? "Energies" : "EnergiesAndForces") +
                                  (std::get<1>(info.param) == ReferenceMethod::kAutograd ? "Autograd" : "Derivatives");
                         });

TEST(ReferenceStepTest, OnlySampledForcesCount) {
  const GoldenTraining golden = ReadGoldenTraining();
  const ReferenceModel model = ModelOf(golden);
  const std::vector<double>& parameters = golden.initial_networks.parameters;
  NamedTensors batch = BatchOf(golden, {0, 1});
  for (bool& sampled : batch.MutableAt("force_sampled").mutable_values<bool>()) sampled = false;
  const ReferenceStep none = ComputeReferenceStep(model, parameters, batch, 0.25);
  EXPECT_EQ(none.force_rmse, 0);
  EXPECT_EQ(none.loss, 0.75 * none.energy_rmse);

  batch.MutableAt("force_sampled").mutable_values<bool>()[2] = true;
  const ReferenceStep one = ComputeReferenceStep(model, parameters, batch, 0.25);
  EXPECT_GT(one.force_rmse, 0);
  for (const int64_t component : {0, 17}) {  // components of atoms 0 and 5, which are not sampled
    batch.MutableAt("force").mutable_values<double>()[component] += 100;
  }
  EXPECT_EQ(ComputeReferenceStep(model, parameters, batch, 0.25).force_rmse, one.force_rmse);
}

}  // namespace
}  // namespace rutile
