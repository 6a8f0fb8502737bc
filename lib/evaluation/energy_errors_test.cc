#include "lib/evaluation/energy_errors.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(EnergyErrorsTest, MatchesHandCalculation) {
  // Errors 0.3 eV of 3 atoms (100 meV/atom) and -0.8 eV of 4 atoms (-200 meV/atom).
  const std::vector<EnergyErrors> errors =
      ComputeEnergyErrors({{"a", "x", "TiO2", 3, -10.0, -9.7}, {"b", "x", "TiO2", 4, -5.0, -5.8}});
  ASSERT_EQ(errors.size(), 1u);  // one config type and one composition: no groups beside "all"
  EXPECT_EQ(errors[0].structures, 2);
  EXPECT_EQ(errors[0].atoms, 7);
  EXPECT_NEAR(errors[0].rmse_per_atom, std::sqrt((100.0 * 100 + 200.0 * 200) / 2), 1e-9);
  EXPECT_NEAR(errors[0].mae_per_atom, 150, 1e-9);
  EXPECT_NEAR(errors[0].max_per_atom, 200, 1e-9);
  EXPECT_NEAR(errors[0].rmse_total, std::sqrt((0.09 + 0.64) / 2), 1e-12);
  EXPECT_NEAR(errors[0].mae_total, 0.55, 1e-12);
}

TEST(EnergyErrorsTest, GroupsAreSortedAndLeaveOutWhatHasNoReference) {
  const std::vector<EnergyErrors> errors = ComputeEnergyErrors({{"1", "rutile", "Ti2O4", 6, -1, -1},
                                                                {"2", "anatase", "Ti2O4", 6, -1, -1},
                                                                {"3", "anatase", "TiO2", 3, -1, -1},
                                                                {"4", "fluorite", "TiO2", 3, kNaN, -1}});
  std::vector<std::string> groups;
  for (const EnergyErrors& e : errors) groups.push_back(e.grouping + ":" + e.group);
  EXPECT_THAT(groups, ::testing::ElementsAre("all:", "config_type:anatase", "config_type:rutile", "composition:Ti2O4",
                                             "composition:TiO2"));
  EXPECT_EQ(errors[0].structures, 3);
}

TEST(EnergyErrorsTest, NothingToCompare) {
  EXPECT_TRUE(ComputeEnergyErrors({}).empty());
  EXPECT_TRUE(ComputeEnergyErrors({{"1", "", "H2", 2, kNaN, -1}}).empty());
}

TEST(EnergyErrorsTest, TablesNameUnitsAndKeepTheirColumns) {
  const std::vector<EnergyPrediction> predictions = {{"a\tb", "c\nd", "H2", 2, -1, -1.002}};
  const std::string tsv = PredictionsToTsv(predictions);
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\n'), 2);
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\t'), 12);
  EXPECT_THAT(tsv, ::testing::HasSubstr("error[meV/atom]"));
  EXPECT_THAT(tsv, ::testing::HasSubstr("-1.00000"));
  EXPECT_THAT(EnergyErrorsToTsv(ComputeEnergyErrors(predictions)), ::testing::HasSubstr("energy_rmse[meV/atom]"));
}

}  // namespace
}  // namespace rutile
