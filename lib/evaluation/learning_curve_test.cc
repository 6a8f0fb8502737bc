#include "lib/evaluation/learning_curve.h"

#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/evaluation/training_log.h"
#include "lib/plot/html_report.h"
#include "lib/plot/report_pictures.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TrainingLog Log() {
  return {{"epoch", "step", "train_loss[eV/atom]", "val_loss[eV/atom]"},
          {{1, 2, 3}, {10, 20, 30}, {3, 2, 1}, {3.5, 2.25, 2.5}}};
}

std::string Svg(const TrainingLog& log, const KeptModel& kept) {
  const absl::StatusOr<std::string> svg = DrawLearningCurve(log, kept);
  EXPECT_TRUE(svg.ok()) << svg.status();
  return svg.value_or("");
}

KeptModel Epoch(double epoch) {
  KeptModel kept;
  kept.epoch = epoch;
  return kept;
}

TEST(LearningCurveTest, BothCurvesOverEpochs) {
  const std::string svg = Svg(Log(), Epoch(2));
  EXPECT_THAT(svg, HasSubstr("training"));
  EXPECT_THAT(svg, HasSubstr("validation"));
  EXPECT_THAT(svg, HasSubstr("Loss (eV/atom)"));
  EXPECT_THAT(svg, HasSubstr("Epoch"));
  EXPECT_THAT(svg, HasSubstr("kept: epoch 2"));
  EXPECT_THAT(Svg(Log(), Epoch(3)), HasSubstr("kept: epoch 3"));
  EXPECT_THAT(Svg(Log(), {}), HasSubstr("best: epoch 2")) << "epoch 2 has the lowest validation loss";
  EXPECT_THAT(Svg(Log(), Epoch(4)), Not(HasSubstr("epoch 4"))) << "the log has no such epoch";
}

TEST(LearningCurveTest, OverStepsWhereAnEpochHasSeveralRows) {
  TrainingLog log = Log();
  log.values[0] = {1, 1, 2};
  EXPECT_THAT(Svg(log, Epoch(1)), HasSubstr("Step"));
  log.columns[1] = "other";
  EXPECT_THAT(Svg(log, Epoch(1)), HasSubstr("Epoch"));
}

std::string Section(const TrainingLog& log, const KeptModel& kept) {
  HtmlReport html("t");
  ReportPictures pictures(::testing::TempDir(), &html);
  EXPECT_TRUE(AddTraining(log, kept, &pictures).ok());
  return html.ToString();
}

TEST(LearningCurveTest, TheCaptionSaysWhatTheCurveIsOver) {
  TrainingLog log = Log();
  EXPECT_THAT(Section(log, {}), HasSubstr("Loss over the epochs, for training"));
  log.values[0] = {1, 1, 2};
  EXPECT_THAT(Section(log, {}), HasSubstr("Loss over the steps, for training"));
}

TEST(LearningCurveTest, ARowThatRepeatsEpochAndStepDoesNotCallForSteps) {
  TrainingLog log = Log();
  log.values[0] = {1, 2, 2};
  log.values[1] = {10, 20, 20};
  EXPECT_THAT(Svg(log, {}), HasSubstr("Epoch"));
  EXPECT_THAT(Section(log, {}), HasSubstr("Loss over the epochs, for training"));
}

TEST(LearningCurveTest, RowsWithoutValidation) {
  TrainingLog log = Log();
  log.values[3] = {kNan, 2, kNan};
  EXPECT_THAT(Svg(log, {}), HasSubstr("validation"));
  log.values[3] = {kNan, kNan, kNan};
  EXPECT_THAT(Svg(log, {}), Not(HasSubstr("validation")));
}

TEST(LearningCurveTest, NothingToDraw) {
  EXPECT_TRUE(HasLearningCurve(Log()));
  const TrainingLog empty = {{"epoch", "train_loss"}, {{}, {}}};
  EXPECT_FALSE(HasLearningCurve(empty));
  EXPECT_EQ(DrawLearningCurve(empty, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(HasLearningCurve({{"epoch"}, {{1}}}));
}

TrainingLog GraphLog() {
  return {{"epoch", "step", "train_loss", "val_loss", "val_mrr", "val_mr", "val_hits@1"},
          {{1, 2, 2}, {10, 15, 20}, {3, 2, 1}, {3.5, 2.25, 2.5}, {0.2, 0.5, 0.4}, {9, 5, 7}, {0.1, 0.5, 0.3}}};
}

KeptModel ChosenBy(const std::string& column, bool higher_is_better, std::optional<double> epoch) {
  KeptModel kept;
  kept.monitor = column;
  kept.higher_is_better = higher_is_better;
  kept.epoch = epoch;
  return kept;
}

TEST(LearningCurveTest, TheValueThatChoseTheModelHasAPanel) {
  KeptModel kept = ChosenBy("val_mrr", true, 2);
  const std::string svg = Svg(GraphLog(), kept);
  EXPECT_THAT(svg, HasSubstr("Validation MRR"));
  EXPECT_THAT(svg, HasSubstr(">Loss<"));
  EXPECT_THAT(svg, HasSubstr("kept: epoch 2"));
  EXPECT_EQ(KeptRow(GraphLog(), kept), 1u);
  kept.step = 20;
  EXPECT_EQ(KeptRow(GraphLog(), kept), 2u);
  kept.step = 11;
  EXPECT_EQ(KeptRow(GraphLog(), kept), std::nullopt);
  EXPECT_EQ(KeptRow(GraphLog(), ChosenBy("val_mr", false, std::nullopt)), 1u);
  // A loss that was monitored has no second panel.
  EXPECT_EQ(Svg(GraphLog(), ChosenBy("val_loss", false, 2)), Svg(GraphLog(), Epoch(2)));
  EXPECT_THAT(Svg(GraphLog(), ChosenBy("val_loss", false, 2)), Not(HasSubstr("MRR")));
  EXPECT_THAT(Svg(Log(), ChosenBy("val_mrr", true, 2)), Not(HasSubstr("MRR"))) << "the log does not have it";
}

TEST(LearningCurveTest, AnotherColumnIsShownOnRequest) {
  KeptModel kept = ChosenBy("val_loss", false, 2);
  kept.shown = "val_mrr";
  kept.shown_rises = true;
  EXPECT_EQ(KeptRow(GraphLog(), kept), 1u) << "the loss still decides";
  EXPECT_EQ(Svg(GraphLog(), kept), Svg(GraphLog(), ChosenBy("val_mrr", true, 2)));
}

TEST(LearningCurveTest, TheSectionSaysWhatIsKnownOfTheModel) {
  const std::string directory = ::testing::TempDir();
  const auto section = [&](const KeptModel& kept) {
    HtmlReport html("t");
    ReportPictures pictures(directory, &html);
    EXPECT_TRUE(AddTraining(GraphLog(), kept, &pictures).ok());
    return html.ToString();
  };
  EXPECT_THAT(section(ChosenBy("val_mrr", true, 2)),
              HasSubstr("<p>The model is of epoch 2 of the 2 in the log: Validation MRR 0.5.</p>"));
  KeptModel unknown = ChosenBy("val_mrr", true, std::nullopt);
  unknown.doubt = "is it of another run?";
  EXPECT_THAT(section(unknown), HasSubstr("<p>The best was epoch 2 of the 2 in the log: Validation MRR 0.5.</p>"));
  EXPECT_THAT(section(unknown), HasSubstr("<p>is it of another run?</p>"));
  HtmlReport html("t");
  ReportPictures pictures(directory, &html);
  EXPECT_TRUE(AddTraining({{"epoch"}, {{1}}}, {}, &pictures).ok());
  EXPECT_THAT(html.ToString(), Not(HasSubstr("Training")));
}

TEST(LearningCurveTest, AMetricThatTheRowLacksIsNotTold) {
  KeptModel kept = ChosenBy("train_loss", false, 2);
  kept.shown = "val_mrr";
  TrainingLog log = GraphLog();
  log.values[4] = {0.2, 0.5, kNan};  // the row with the lowest training loss was not validated
  const std::string section = Section(log, kept);
  EXPECT_THAT(section, HasSubstr("<p>The model is of epoch 2 of the 2 in the log.</p>"));
  EXPECT_THAT(section, Not(HasSubstr("MRR nan")));
}

TEST(LearningCurveTest, FindsTheColumnThatAModelRecords) {
  EXPECT_EQ(ColumnOfValue(GraphLog(), 0, 0.2), "val_mrr");
  EXPECT_EQ(ColumnOfValue(GraphLog(), 1, 0.5), "val_mrr") << "of several, the first";
  EXPECT_EQ(ColumnOfValue(GraphLog(), 1, 2.25), "val_loss");
  EXPECT_EQ(ColumnOfValue(GraphLog(), 2, 1), "train_loss");
  EXPECT_EQ(ColumnOfValue(GraphLog(), 2, 0.123), "");
  TrainingLog log = GraphLog();
  log.values[4][0] = 0.234567891;
  EXPECT_EQ(ColumnOfValue(log, 0, 0.234568), "val_mrr");
  EXPECT_EQ(ColumnOfValue(Log(), 1, 2.25), "val_loss") << "a column with a unit";
}

TEST(LearningCurveTest, ColumnsHaveNamesForPeople) {
  EXPECT_EQ(ColumnLabel(GraphLog(), "val_mrr"), "Validation MRR");
  EXPECT_EQ(ColumnLabel(GraphLog(), "val_hits@1"), "Validation hits@1");
  EXPECT_EQ(ColumnLabel({{"epoch", "val_force_rmse[eV/Å]"}, {{1}, {1}}}, "val_force_rmse"),
            "Validation force RMSE (eV/Å)");
  EXPECT_EQ(ColumnLabel(Log(), "train_loss"), "Training loss (eV/atom)");
}

}  // namespace
}  // namespace rutile
