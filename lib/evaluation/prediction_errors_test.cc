#include "lib/evaluation/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

StructurePrediction Energies(const std::string& config_type, const std::string& composition, int64_t atoms,
                             double reference, double predicted) {
  StructurePrediction p;
  p.name = "s";
  p.config_type = config_type;
  p.composition = composition;
  p.num_atoms = atoms;
  p.reference_energy = reference;
  p.predicted_energy = predicted;
  return p;
}

// Two atoms, Ti and O, whose forces are wrong by (3, 0, 4) and (0, 1, 0).
StructurePrediction Forces() {
  StructurePrediction p = Energies("x", "TiO", 2, kNaN, -1);
  p.element = {22, 8};
  p.reference_force = {1, 2, 3, 4, 5, 6};
  p.predicted_force = {4, 2, 7, 4, 6, 6};
  return p;
}

std::vector<std::string> Keys(const std::vector<ErrorRow>& rows) {
  std::vector<std::string> keys;
  for (const ErrorRow& row : rows) keys.push_back(row.grouping + ":" + row.group + ":" + row.quantity);
  return keys;
}

TEST(PredictionErrorsTest, IsolatedAtomsAreApart) {
  StructurePrediction atom = Energies("IsolatedAtom", "Ti", 1, -100, -95);
  atom.isolated = true;
  const std::vector<ErrorRow> rows = ComputeErrors({Energies("x", "TiO2", 3, -10.0, -9.7), atom, Forces()});
  ASSERT_THAT(Keys(rows), ElementsAre("all::energy", "all::energy_total", "all::force", "all::force_vector",
                                      "all::net_force", "isolated_atoms::energy", "composition:TiO:force",
                                      "composition:TiO:force_vector", "composition:TiO2:energy", "species:O:force",
                                      "species:O:force_vector", "species:Ti:force", "species:Ti:force_vector"));
  EXPECT_NEAR(rows[0].rmse, 100, 1e-9);
  EXPECT_EQ(rows[0].of_structures, 2);
  EXPECT_NEAR(rows[5].rmse, 5000, 1e-9);
  EXPECT_EQ(rows[5].of_structures, 1);
}

TEST(PredictionErrorsTest, EnergiesMatchHandCalculation) {
  // Errors 0.3 eV of 3 atoms (100 meV/atom) and -0.8 eV of 4 atoms (-200 meV/atom).
  const std::vector<ErrorRow> rows =
      ComputeErrors({Energies("x", "TiO2", 3, -10.0, -9.7), Energies("x", "TiO2", 4, -5.0, -5.8)});
  // One config type and one composition: no groups beside "all".
  ASSERT_THAT(Keys(rows), ElementsAre("all::energy", "all::energy_total"));
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].unit, "meV/atom");
  EXPECT_NEAR(rows[0].rmse, std::sqrt((100.0 * 100 + 200.0 * 200) / 2), 1e-9);
  EXPECT_NEAR(rows[0].mae, 150, 1e-9);
  EXPECT_NEAR(rows[0].max, 200, 1e-9);
  EXPECT_NEAR(rows[1].rmse, std::sqrt((0.09 + 0.64) / 2), 1e-12);
  EXPECT_NEAR(rows[1].mae, 0.55, 1e-12);
}

TEST(PredictionErrorsTest, ForcesMatchHandCalculation) {
  const std::vector<ErrorRow> rows = ComputeErrors({Forces()});
  ASSERT_THAT(Keys(rows), ElementsAre("all::force", "all::force_vector", "all::net_force", "species:O:force",
                                      "species:O:force_vector", "species:Ti:force", "species:Ti:force_vector"));
  EXPECT_EQ(rows[0].count, 6);
  EXPECT_NEAR(rows[0].rmse, std::sqrt((9.0 + 16 + 1) / 6), 1e-12);
  EXPECT_NEAR(rows[0].mae, (3.0 + 4 + 1) / 6, 1e-12);
  EXPECT_EQ(rows[0].max, 4);
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_NEAR(rows[1].rmse, std::sqrt((25.0 + 1) / 2), 1e-12);
  EXPECT_NEAR(rows[1].mae, 3, 1e-12);
  EXPECT_EQ(rows[1].max, 5);
  EXPECT_NEAR(rows[2].max, std::sqrt(8.0 * 8 + 8 * 8 + 13 * 13), 1e-12);
  EXPECT_EQ(rows[4].max, 1);
  EXPECT_EQ(rows[6].max, 5);
  EXPECT_EQ(FindError(rows, "force"), &rows[0]);
  EXPECT_EQ(FindError(rows, "energy"), nullptr);
}

TEST(PredictionErrorsTest, StressIsOfNineComponents) {
  StructurePrediction p = Energies("x", "TiO", 2, kNaN, -1);
  p.reference_stress = std::array<double, 9>{};
  p.predicted_stress = std::array<double, 9>{0.3, 0.1, 0, 0.1, 0, 0, 0, 0, 0};
  const std::vector<ErrorRow> rows = ComputeErrors({p});
  ASSERT_THAT(Keys(rows), ElementsAre("all::stress", "all::stress_gpa"));
  EXPECT_EQ(rows[0].count, 9);
  EXPECT_NEAR(rows[0].rmse, std::sqrt(0.11 / 9), 1e-12);
  EXPECT_NEAR(rows[0].mae, 0.5 / 9, 1e-12);
  EXPECT_NEAR(rows[1].max, 0.3 * 160.21766, 1e-4);
}

TEST(PredictionErrorsTest, SayOverHowManyStructuresTheyAre) {
  StructurePrediction bulk = Energies("bulk", "Ti2", 2, -1, -1);
  bulk.element = {22, 22};
  std::vector<StructurePrediction> predictions(5, bulk);
  predictions.push_back(Forces());
  const std::vector<ErrorRow> rows = ComputeErrors(predictions);
  const ErrorRow& energy = *FindError(rows, "energy");
  EXPECT_EQ(StructuresOf(energy), "5 of 6 structures");
  EXPECT_THAT(std::vector<int64_t>({energy.atoms, energy.of_atoms}), ElementsAre(10, 12));
  const ErrorRow& force = *FindError(rows, "force");
  EXPECT_EQ(StructuresOf(force), "1 of 6 structures");
  EXPECT_THAT(std::vector<int64_t>({force.atoms, force.of_atoms}), ElementsAre(2, 12));
  int64_t species = 0;
  for (const ErrorRow& row : rows) {
    if (row.grouping == "config_type") {
      EXPECT_EQ(row.structures, row.of_structures) << row.group << row.quantity;
    }
    if (row.grouping != "species" || row.group != "Ti") continue;
    ++species;
    EXPECT_THAT(std::vector<int64_t>({row.structures, row.of_structures, row.atoms, row.of_atoms}),
                ElementsAre(1, 6, 1, 11));
  }
  EXPECT_EQ(species, 2);  // force and force_vector
  EXPECT_THAT(PartialErrors(rows),
              ElementsAre(HasSubstr("errors of the energy are over 5 of 6 structures (10 of 12 atoms)"),
                          HasSubstr("errors of the forces are over 1 of 6 structures (2 of 12 atoms)")));
  EXPECT_THAT(ErrorsToTsv(rows), HasSubstr("\t4.000000\t1\t6\t2\t12\n"));
  const absl::Status above = CheckErrorLimits(rows, {{"--max_force_rmse", "force", 1}});
  EXPECT_THAT(std::string(above.message()), HasSubstr("1 of 6 structures"));
}

TEST(PredictionErrorsTest, NothingIsSaidWhereAllHaveALabelOrNone) {
  const std::vector<ErrorRow> rows = ComputeErrors({Energies("", "H2", 2, -1, -1), Energies("", "H2", 2, -2, -1)});
  EXPECT_THAT(PartialErrors(rows), IsEmpty());
  EXPECT_EQ(StructuresOf(rows[0]), "2 structures");
}

TEST(PredictionErrorsTest, SpreadOfACommittee) {
  StructurePrediction p = Forces();
  p.energy_spread = 0.01;
  p.force_spread = {0.1, 0.3};
  const std::vector<ErrorRow> rows = ComputeErrors({p});
  ASSERT_NE(FindError(rows, "energy_spread"), nullptr);
  EXPECT_NEAR(FindError(rows, "energy_spread")->mae, 5, 1e-12);  // meV/atom
  EXPECT_NEAR(FindError(rows, "force_spread")->mae, 0.2, 1e-12);
  EXPECT_NEAR(FindError(rows, "force_spread")->max, 0.3, 1e-12);
}

TEST(PredictionErrorsTest, GroupsAreSortedAndLeaveOutWhatHasNoReference) {
  const std::vector<ErrorRow> rows =
      ComputeErrors({Energies("rutile", "Ti2O4", 6, -1, -1), Energies("anatase", "Ti2O4", 6, -1, -1),
                     Energies("anatase", "TiO2", 3, -1, -1), Energies("fluorite", "TiO2", 3, kNaN, -1)});
  EXPECT_THAT(Keys(rows),
              ElementsAre("all::energy", "all::energy_total", "config_type:anatase:energy", "config_type:rutile:energy",
                          "composition:Ti2O4:energy", "composition:TiO2:energy"));
  EXPECT_EQ(rows[0].count, 3);
}

TEST(PredictionErrorsTest, NothingToCompare) {
  EXPECT_THAT(ComputeErrors({}), IsEmpty());
  EXPECT_THAT(ComputeErrors({Energies("", "H2", 2, kNaN, -1)}), IsEmpty());
}

TEST(PredictionErrorsTest, Limits) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const std::vector<ErrorRow> rows = ComputeErrors({Forces()});
  EXPECT_TRUE(CheckErrorLimits(rows, {{"--max_force_rmse", "force", 3}, {"--max_energy_rmse", "energy", kNone}}).ok());
  const absl::Status above = CheckErrorLimits(rows, {{"--max_force_rmse", "force", 2}});
  EXPECT_TRUE(absl::IsFailedPrecondition(above));
  EXPECT_EQ(above.message(), "force RMSE 2.081666 eV/Å is above --max_force_rmse=2 (over 1 structures)");
  const absl::Status unknown = CheckErrorLimits(rows, {{"--max_energy_rmse", "energy", 2}});
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("has no energy to compare with"));
}

TEST(PredictionErrorsTest, ExtrapolationNamesTheFirst) {
  std::vector<StructurePrediction> predictions(6, Forces());
  EXPECT_EQ(ExtrapolationWarning(predictions), "");
  for (int i = 0; i < 6; ++i) {
    predictions[i].name = "f" + std::to_string(i);
    predictions[i].atoms_outside = i % 2;
  }
  EXPECT_THAT(ExtrapolationWarning(predictions), ::testing::EndsWith("guesses: f1, f3, f5"));
  EXPECT_THAT(ExtrapolationWarning(predictions), ::testing::StartsWith("3 of 6 structures"));
  predictions[0].atoms_outside = 1;
  EXPECT_THAT(ExtrapolationWarning(predictions), ::testing::EndsWith("guesses: f0, f1, f3, ..."));
}

TEST(PredictionErrorsTest, TableNamesUnitsAndKeepsItsColumns) {
  const std::string tsv =
      ErrorsToTsv(ComputeErrors({Energies("a\tb", "H2", 2, -1, -1.002), Energies("c", "H2", 2, -1, -1)}));
  EXPECT_THAT(tsv, HasSubstr("all\t\tenergy\tmeV/atom\t2\t0.7071\t0.5000\t1.0000\t2\t2\t4\t4\n"));
  EXPECT_THAT(tsv, HasSubstr("config_type\ta b\tenergy"));
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\t'), 11 * std::count(tsv.begin(), tsv.end(), '\n'));
}

TEST(PredictionErrorsTest, LargestErrorIsNaNWhereAnErrorIs) {
  std::vector<StructurePrediction> predictions(2);
  for (StructurePrediction& p : predictions) {
    p.composition = "O";
    p.num_atoms = 1;
    p.element = {8};
    p.reference_energy = -1;
    p.predicted_energy = -2;
    p.reference_force = {0, 0, 0};
    p.predicted_force = {0, 1, 0};
  }
  for (const int bad : {0, 1}) {
    std::vector<StructurePrediction> with_nan = predictions;
    with_nan[bad].predicted_energy = with_nan[bad].predicted_force[1] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<ErrorRow> rows = ComputeErrors(with_nan);
    for (const char* quantity : {"energy", "energy_total", "force", "force_vector", "net_force"}) {
      const ErrorRow* const row = FindError(rows, quantity);
      ASSERT_NE(row, nullptr) << quantity;
      EXPECT_TRUE(std::isnan(row->max) && std::isnan(row->rmse) && std::isnan(row->mae)) << quantity << " " << bad;
    }
  }
}

}  // namespace
}  // namespace rutile
