#include "lib/evaluation/learning_curve.h"

#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/evaluation/training_log.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TrainingLog Log() {
  return {{"epoch", "step", "train_loss[eV/atom]", "val_loss[eV/atom]"},
          {{1, 2, 3}, {10, 20, 30}, {3, 2, 1}, {3.5, 2.25, 2.5}}};
}

std::string Svg(const TrainingLog& log, std::optional<double> best_epoch) {
  const absl::StatusOr<std::string> svg = DrawLearningCurve(log, best_epoch);
  EXPECT_TRUE(svg.ok()) << svg.status();
  return svg.value_or("");
}

TEST(LearningCurveTest, BothCurvesOverEpochs) {
  const std::string svg = Svg(Log(), 2);
  EXPECT_THAT(svg, HasSubstr("training"));
  EXPECT_THAT(svg, HasSubstr("validation"));
  EXPECT_THAT(svg, HasSubstr("Loss (eV/atom)"));
  EXPECT_THAT(svg, HasSubstr("Epoch"));
  EXPECT_EQ(svg, Svg(Log(), std::nullopt)) << "epoch 2 has the lowest validation loss";
  EXPECT_NE(svg, Svg(Log(), 3));
}

TEST(LearningCurveTest, OverStepsWhereAnEpochHasSeveralRows) {
  TrainingLog log = Log();
  log.values[0] = {1, 1, 2};
  EXPECT_THAT(Svg(log, 1), HasSubstr("Step"));
  log.columns[1] = "other";
  EXPECT_THAT(Svg(log, 1), HasSubstr("Epoch"));
}

TEST(LearningCurveTest, RowsWithoutValidation) {
  TrainingLog log = Log();
  log.values[3] = {kNan, 2, kNan};
  EXPECT_THAT(Svg(log, std::nullopt), HasSubstr("validation"));
  log.values[3] = {kNan, kNan, kNan};
  EXPECT_THAT(Svg(log, std::nullopt), Not(HasSubstr("validation")));
}

TEST(LearningCurveTest, NothingToDraw) {
  EXPECT_TRUE(HasLearningCurve(Log()));
  const TrainingLog empty = {{"epoch", "train_loss"}, {{}, {}}};
  EXPECT_FALSE(HasLearningCurve(empty));
  EXPECT_EQ(DrawLearningCurve(empty, std::nullopt).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(HasLearningCurve({{"epoch"}, {{1}}}));
}

}  // namespace
}  // namespace rutile
