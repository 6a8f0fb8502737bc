#include "lib/potential/model/golden_potential_testing.h"

#include <cmath>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(GoldenPotentialTest, CasesAreConsistent) {
  const std::vector<std::string> names = GoldenCaseNames();
  ASSERT_EQ(names.size(), 9);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const GoldenCase golden = ReadGoldenCase(name);
    const size_t atoms = golden.structure.element.size();
    const size_t features = golden.descriptor.num_features();
    EXPECT_EQ(golden.name, name);
    EXPECT_EQ(golden.structure.position.size(), 3 * atoms);
    EXPECT_EQ(golden.species.size(), atoms);
    EXPECT_EQ(golden.features.size(), atoms * features);
    EXPECT_EQ(golden.jacobian.size(), golden.jacobian.empty() ? 0 : atoms * features * 3 * atoms);
    EXPECT_EQ(golden.force.size(), 3 * atoms);
    EXPECT_EQ(golden.feature_mean.size(), features);
    EXPECT_EQ(golden.feature_deviation.size(), features);
    ASSERT_EQ(golden.networks.hidden, (std::vector<int>{7, 5}));
    EXPECT_EQ(golden.networks.parameters.size(), golden.descriptor.species.size() * (features * 7 + 7 + 7 * 5 + 5 + 6));
    double sum = 0;
    for (const double output : golden.atomic_output) sum += output;
    EXPECT_NEAR(sum / golden.energy_scaling + golden.energy_shift * atoms, golden.energy, 1e-8);
  }
}

TEST(GoldenPotentialTest, WeightsFollowTheFormulaOfTheReadme) {
  const GoldenCase golden = ReadGoldenCase("water_isolated");
  const int64_t per_species = golden.networks.parameters.size() / 2;
  // The first layer of the second species has 30 inputs and 7 outputs: W row-major, then b.
  for (int64_t k = 0; k < 7 * 30 + 7; ++k) {
    EXPECT_DOUBLE_EQ(golden.networks.parameters[per_species + k], std::sin(0.37 * (k + 1) + 0.7) / std::sqrt(30.0));
  }
}

TEST(GoldenPotentialTest, TrainingTrace) {
  const GoldenTraining golden = ReadGoldenTraining();
  ASSERT_EQ(golden.structures.size(), 6);
  EXPECT_EQ(golden.structures[1].size(), 6);
  EXPECT_DOUBLE_EQ(*golden.structures[1].energy, -51.23195480);
  EXPECT_DOUBLE_EQ(golden.structures[1].cell[8], -5.02244852);
  EXPECT_DOUBLE_EQ(golden.structures[1].force[17], 0.03486652);
  EXPECT_EQ(golden.atomic_energies, (std::vector<double>{-3, -2}));
  EXPECT_DOUBLE_EQ(golden.learning_rate, 1e-3);
  EXPECT_EQ(golden.feature_mean.size(), golden.descriptor.num_features());
  ASSERT_EQ(golden.runs.size(), 2);
  for (const GoldenTraining::Run& run : golden.runs) {
    ASSERT_EQ(run.steps.size(), 8);
    EXPECT_EQ(run.final_networks.parameters.size(), golden.initial_networks.parameters.size());
    for (const GoldenTraining::Step& step : run.steps) {
      EXPECT_NEAR(step.loss, (1 - run.force_weight) * step.energy_rmse + run.force_weight * step.force_rmse, 1e-12);
    }
  }
}

}  // namespace
}  // namespace rutile
