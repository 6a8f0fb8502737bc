#include "lib/train/epoch_log.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/task/task.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/log_format.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleEq;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(EpochLogTest, ColumnsNameTermsMetricsAndUnits) {
  ToyTaskOptions options;
  options.strain_every = 5;
  const ToyTask task(options);
  EXPECT_THAT(EpochColumns(task, true),
              ElementsAre("epoch", "step", "learning_rate", "train_loss", "train_value[V^2]", "train_slope[(V/m)^2]",
                          "train_strain[1]", "val_loss", "val_value_mae[V]", "epoch_time[s]", "examples_per_s"));
  EXPECT_THAT(EpochColumns(task, false),
              ElementsAre("epoch", "step", "learning_rate", "train_loss", "train_value[V^2]", "train_slope[(V/m)^2]",
                          "train_strain[1]", "epoch_time[s]", "examples_per_s"));
}

TEST(EpochLogTest, RowsFollowTheColumns) {
  EpochReport report;
  report.epoch = 3;
  report.step = 21;
  report.learning_rate = 0.5;
  report.train_loss = 6;
  report.terms = {7, kNan, 8};
  report.validation_loss = 9;
  report.validation = {{"value_mae", "V", 10}};
  report.time = absl::Seconds(11);
  report.examples_per_s = 12;
  EXPECT_THAT(EpochRow(report, true), ElementsAre(3, 21, 0.5, 6, 7, NanSensitiveDoubleEq(kNan), 8, 9, 10, 11, 12));
  report.validation.clear();
  EXPECT_THAT(EpochRow(report, false), ElementsAre(3, 21, 0.5, 6, 7, NanSensitiveDoubleEq(kNan), 8, 11, 12));
}

TEST(TermMeansTest, NothingCountedIsNaN) {
  TermSums sums(3);
  sums.sum = {6, 0, 0};
  sums.count = {4, 0, 2};
  EXPECT_THAT(TermMeans(sums), ElementsAre(1.5, NanSensitiveDoubleEq(kNan), 0));
}

TEST(ReportOfTest, NothingTrainedIsNoLoss) {
  const ToyTask task{ToyTaskOptions()};
  Checkpoint state;
  state.epoch = 2;
  state.batch = 3;
  state.step = 21;
  state.learning_rate = 0.5;
  state.epoch_sums = TermSums(2);
  state.epoch_sums.sum = {6, 0};
  state.epoch_sums.count = {4, 0};
  EpochReport report = ReportOf(task, state, /*has_validation=*/true);
  EXPECT_EQ(report.epoch, 3);
  EXPECT_EQ(report.step, 21);
  EXPECT_EQ(report.learning_rate, 0.5);
  EXPECT_EQ(report.train_loss, task.CombineTerms(state.epoch_sums).value);
  EXPECT_THAT(report.terms, ElementsAre(1.5, NanSensitiveDoubleEq(kNan)));
  state.epoch = 3;
  state.batch = 0;
  state.epoch_sums = TermSums(2);
  ASSERT_EQ(report.validation.size(), 1u);
  EXPECT_THAT(report.validation[0].value, NanSensitiveDoubleEq(kNan));
  report = ReportOf(task, state, /*has_validation=*/false);
  EXPECT_EQ(report.epoch, 3);
  EXPECT_THAT(report.train_loss, NanSensitiveDoubleEq(kNan));
  EXPECT_THAT(report.validation, ::testing::IsEmpty());
}

TEST(EpochLogTest, ALogInOtherUnitsIsSetAside) {
  const RunDirectory directory(::testing::TempDir() + "/other_units");
  ASSERT_FALSE(directory.Open(RunMode::kOverwrite).value());
  const ToyTask task{ToyTaskOptions()};
  const std::vector<LogFormat> formats = {LogFormat::kTsv};
  ASSERT_TRUE(WriteFileAtomically(directory.log(), "epoch\tloss\n1\t0.5\n").ok());
  int64_t rows = 1;
  EXPECT_EQ(OpenEpochLog(task, true, directory, formats, false, &rows).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(rows, 1);
  ASSERT_TRUE(OpenEpochLog(task, true, directory, formats, true, &rows).ok());
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(FileContents::Open(directory.path() + "/recovery/log.tsv")->data(), "epoch\tloss\n1\t0.5\n");
  EXPECT_TRUE(OpenEpochLog(task, true, directory, formats, false, &rows).ok());
}

}  // namespace
}  // namespace rutile
