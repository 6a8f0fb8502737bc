#include "lib/evaluation/prediction_tables.h"

#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

StructurePrediction EnergyAlone() {
  StructurePrediction p;
  p.name = "a\tb";
  p.config_type = "c\nd";
  p.composition = "H2";
  p.num_atoms = 2;
  p.reference_energy = -1;
  p.predicted_energy = -1.002;
  return p;
}

StructurePrediction WithForces() {
  StructurePrediction p = EnergyAlone();
  p.element = {1, 1};
  p.atom_energy = {-0.5, -0.502};
  p.predicted_force = {0, 0, 1, 0, 0, -1};
  p.reference_force = {0, 0, 1, 0, 0.5, -1};
  p.force_spread = {0.25, 0.125};
  p.energy_spread = 0.004;
  p.reference_stress = std::array<double, 9>{};
  p.predicted_stress = std::array<double, 9>{0.3};
  p.atoms_outside = 1;
  return p;
}

void ExpectColumns(const std::string& tsv, int columns, int lines) {
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\n'), lines);
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\t'), lines * (columns - 1));
}

TEST(PredictionTablesTest, StructuresKeepTheirColumns) {
  const std::string tsv = PredictionsToTsv({EnergyAlone(), WithForces()});
  ExpectColumns(tsv, 14, 3);
  EXPECT_THAT(tsv, HasSubstr("error[meV/atom]"));
  EXPECT_THAT(tsv,
              HasSubstr("a b\tc d\tH2\t2\t-1.00000000\t-1.00200000\t-1.00000\tnan\tnan\tnan\tnan\tnan\tnan\tnan\n"));
  EXPECT_THAT(tsv, HasSubstr("-1.00000\t2.00000\t0.204124\t0.500000\t0.000e+00\t0.250000\t0.10000000\t1\n"));
}

TEST(PredictionTablesTest, UncertaintyHasColumnsWhereItIsKnown) {
  StructurePrediction p = WithForces();
  p.energy_std = 0.006;
  p.atom_energy_std = {0.002, 0.003};
  p.force_std = {0.1, 0.2, 0.3, 0.4, 0.5, 0.25};
  const std::string tsv = PredictionsToTsv({p, EnergyAlone()});
  ExpectColumns(tsv, 16, 3);
  EXPECT_THAT(tsv, HasSubstr("\tatoms_outside\tenergy_std[meV/atom]\tforce_std_max[eV/Å]\n"));
  EXPECT_THAT(tsv, HasSubstr("\t1\t3.00000\t0.500000\n"));
  EXPECT_THAT(tsv, HasSubstr("\tnan\tnan\tnan\n"));
  const std::string path = ::testing::TempDir() + "/std.tsv";
  ASSERT_TRUE(WriteForcesTsv(path, {p}).ok());
  const std::string forces(FileContents::Open(path)->data());
  ExpectColumns(forces, 17, 3);
  EXPECT_THAT(forces, HasSubstr("\t0.400000\t0.500000\t0.250000\t0.00300000\n"));
}

TEST(PredictionTablesTest, AtomsHaveARowEach) {
  const std::string path = ::testing::TempDir() + "/forces.tsv";
  StructurePrediction without_reference = WithForces();
  without_reference.reference_force.clear();
  ASSERT_TRUE(WriteForcesTsv(path, {EnergyAlone(), WithForces(), without_reference}).ok());
  const std::string tsv(FileContents::Open(path)->data());
  ExpectColumns(tsv, 13, 5);
  EXPECT_THAT(tsv, StartsWith("structure\tname\tatom\telement\treference_fx[eV/Å]"));
  EXPECT_THAT(tsv,
              HasSubstr("\n1\ta b\t2\tH\t0.00000000\t0.50000000\t-1.00000000\t0.00000000\t0.00000000\t-1.00000000\t"
                        "0.500000\t0.125000\t-0.50200000\n"));
  EXPECT_THAT(tsv, HasSubstr("\n2\ta b\t1\tH\tnan\tnan\tnan\t0.00000000"));
}

TEST(PredictionTablesTest, NowhereToWrite) { EXPECT_FALSE(WriteForcesTsv("/none/forces.tsv", {WithForces()}).ok()); }

}  // namespace
}  // namespace rutile
