#include "lib/optimizer/schedule/plateau.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Expected rates of ReduceLROnPlateau(mode="min", factor=0.5, patience=1, threshold=0.1), worked out by its rules: the
// second bad value in a row reduces; an improvement of less than 10 % is bad.
TEST(PlateauTest, ReducesWhenTheLossStays) {
  ScheduleOptions options;
  options.factor = 0.5;
  options.patience = 1;
  options.threshold = 0.1;
  options.min_learning_rate = 0.2;
  Plateau plateau(options, 1);
  const double losses[] = {1.0, 0.95, 0.85, 0.84, 0.83, 0.82, 0.81, 0.80, 0.79, 0.78, 0.1};
  const double expected[] = {1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2};
  for (int i = 0; i < 11; ++i) {
    plateau.Observe(losses[i]);
    EXPECT_DOUBLE_EQ(plateau.learning_rate(), expected[i]) << i;
  }
}

TEST(PlateauTest, CoolsDown) {
  ScheduleOptions options;
  options.factor = 0.5;
  options.patience = 0;
  options.cooldown = 2;
  Plateau plateau(options, 1);
  for (const double rate : {1.0, 0.5, 0.5, 0.5, 0.25}) {
    plateau.Observe(1);
    EXPECT_DOUBLE_EQ(plateau.learning_rate(), rate);
  }
}

TEST(PlateauTest, HigherIsBetterWhenMaximized) {
  ScheduleOptions options;
  options.patience = 0;
  options.maximize = true;
  Plateau plateau(options, 1);
  for (const double metric : {0.1, 0.2, 0.3}) plateau.Observe(metric);
  EXPECT_EQ(plateau.learning_rate(), 1);
  plateau.Observe(0.25);
  EXPECT_DOUBLE_EQ(plateau.learning_rate(), 0.1);
}

// The state includes the best value, bad validations in a row, and a cool-down in progress.
TEST(PlateauTest, StateSurvivesAnywhere) {
  ScheduleOptions options;
  options.factor = 0.5;
  options.patience = 1;
  options.cooldown = 2;
  const double losses[] = {3, 2, 2, 2.5, 2, 1.9, 2, 2, 2, 2, 2, 2, 2};
  Plateau whole(options, 1);
  for (const double loss : losses) {
    Plateau resumed(options, 1);
    ASSERT_EQ(resumed.SetState(whole.State()), absl::OkStatus());
    whole.Observe(loss);
    resumed.Observe(loss);
    EXPECT_EQ(resumed.State().At("plateau").ToDoubles(), whole.State().At("plateau").ToDoubles());
  }
  EXPECT_LT(whole.learning_rate(), 0.5);
  EXPECT_THAT(std::string(whole.SetState({}).message()), HasSubstr("no tensor \"plateau\""));
}

}  // namespace
}  // namespace rutile
