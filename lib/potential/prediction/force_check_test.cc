#include "lib/potential/prediction/force_check.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/potential/prediction/force_predictor.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ForceCheckTest, RealPotentialsPass) {
  for (const char* name : {"tio2_rutile_multi_image", "water_isolated", "slab_pbc_TTF", "single_atom_isolated"}) {
    const GoldenCase golden = ReadGoldenCase(name);
    // Parameters in fp32 are converted, because the check is of the code and not of rounding.
    const std::vector<Potential> models(2, WithPrecision(GoldenPotential(golden), DType::kF32));
    ForceCheck check(models);
    Structure structure = golden.structure;
    structure.name = name;
    ASSERT_TRUE(check.Add(structure).ok());
    EXPECT_TRUE(check.Result().ok()) << name << ": " << check.Result() << check.Summary();
    EXPECT_THAT(check.Summary(), HasSubstr("force components of 1 structures agree"));
  }
}

TEST(ForceCheckTest, NamesAnElementThatTheModelDoesNotKnow) {
  const Potential model = SmallTiO2Potential(1);
  ForceCheck check(absl::MakeConstSpan(&model, 1));
  Structure iron;
  iron.name = "iron";
  iron.element = {26};
  iron.position = {0, 0, 0};
  EXPECT_THAT(std::string(check.Add(iron).message()), HasSubstr("iron: atom 1 is Fe"));
}

TEST(CheckNetForcesTest, ForcesAddUpToZero) {
  StructurePrediction p;
  p.name = "s";
  p.num_atoms = 2;
  p.predicted_force = {1, 2, 3, -1, -2, -3};
  EXPECT_TRUE(CheckNetForces({p}, DType::kF64).ok());
  p.predicted_force[0] += 1e-5;
  EXPECT_TRUE(CheckNetForces({p}, DType::kF32).ok());
  EXPECT_FALSE(CheckNetForces({p}, DType::kF64).ok());
  p.predicted_force[0] = 1.001;
  const absl::Status status = CheckNetForces({p}, DType::kF32);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("s: the forces add up to 1.000e-03"));
}

}  // namespace
}  // namespace rutile
