#include "tools/evaluate/own_labels.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Two atoms whose energy is predicted as -10 eV, and labeled so but for `error`.
StructurePrediction Energy(double error) {
  StructurePrediction p;
  p.name = "a";
  p.num_atoms = 2;
  p.predicted_energy = -10;
  p.reference_energy = -10 + error;
  return p;
}

// The same with forces of `size` along x, labeled so but for `error` in one component.
StructurePrediction Forces(double size, double error) {
  StructurePrediction p = Energy(0);
  p.predicted_force = {size, 0, 0, -size, 0, 0};
  p.reference_force = p.predicted_force;
  p.reference_force[4] += error;
  return p;
}

TEST(OwnLabelsTest, ForcesTellByThemselves) {
  EXPECT_THAT(LabelsThatArePredictions({Forces(1, 0), Energy(0.01), Forces(1, 0.01)}), ElementsAre(true, false, false));
  // Below and above what fp32 and fp64 differ by.
  EXPECT_THAT(LabelsThatArePredictions({Forces(1, 9e-5), Forces(1, 2e-4)}), ElementsAre(true, false));
  EXPECT_THAT(LabelsThatArePredictions({Forces(30, 2e-3), Forces(30, 4e-3)}), ElementsAre(true, false));
  // The right forces with another energy or stress are those of another calculation.
  StructurePrediction energy = Forces(1, 0), stress = Forces(1, 0), forces_alone = Forces(1, 0);
  energy.reference_energy += 1e-3;
  stress.predicted_stress.emplace();
  stress.reference_stress.emplace();
  (*stress.reference_stress)[8] = 1e-4;
  forces_alone.reference_energy = kNaN;
  EXPECT_THAT(LabelsThatArePredictions({energy, stress, forces_alone}), ElementsAre(false, false, true));
}

TEST(OwnLabelsTest, EnergiesTellTogether) {
  EXPECT_THAT(LabelsThatArePredictions({Energy(1e-5), Energy(-1e-5)}), ElementsAre(true, true));
  EXPECT_THAT(LabelsThatArePredictions({Energy(0), Energy(0), Energy(1e-3)}), ElementsAre(false, false, false));
  // One number may agree by chance.
  EXPECT_THAT(LabelsThatArePredictions({Energy(0)}), ElementsAre(false));
  // Forces vanish in a perfect crystal.
  EXPECT_THAT(LabelsThatArePredictions({Forces(0, 0), Energy(1e-3)}), ElementsAre(false, false));
  EXPECT_THAT(LabelsThatArePredictions({Forces(0, 0), Energy(0)}), ElementsAre(true, true));
}

TEST(OwnLabelsTest, StructuresWithoutLabelsSayNothing) {
  StructurePrediction atom = Energy(0);
  atom.num_atoms = 1;
  EXPECT_THAT(LabelsThatArePredictions({atom, atom, Energy(kNaN)}), ElementsAre(false, false, false));
  EXPECT_THAT(LabelsThatArePredictions({atom, Energy(kNaN), Forces(1, 0)}), ElementsAre(false, false, true));
  // A prediction that is not finite is no label.
  StructurePrediction broken = Forces(1, 0);
  broken.predicted_force[0] = broken.reference_force[0] = kNaN;
  EXPECT_THAT(LabelsThatArePredictions({broken, broken}), ElementsAre(false, false));
  EXPECT_TRUE(LabelsThatArePredictions({}).empty());
}

TEST(OwnLabelsTest, WarningCountsAndNames) {
  EXPECT_EQ(OwnLabelsWarning({Energy(0.1), Energy(kNaN)}), "");
  StructurePrediction own = Forces(1, 0);
  own.name = "md.extxyz#1";
  const std::string warning = OwnLabelsWarning({Energy(0.1), own, Forces(1, 0)});
  EXPECT_THAT(warning, HasSubstr("2 of 3 structures"));
  EXPECT_THAT(warning, ::testing::EndsWith("the first is md.extxyz#1"));
}

}  // namespace
}  // namespace rutile
