#include "lib/evaluation/training_log.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<TrainingLog> Read(absl::string_view text) {
  const std::string path = ::testing::TempDir() + "/log.tsv";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return ReadTrainingLog(path);
}

TEST(TrainingLogTest, FindsColumnsWithTheirUnits) {
  const absl::StatusOr<TrainingLog> log = Read("epoch\tval_loss[eV/atom]\n1\t0.5\n2\t\n3\tnan\n");
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_NE(log->Find("val_loss"), nullptr);
  EXPECT_EQ(log->Find("val_loss"), log->Find("val_loss[eV/atom]"));
  EXPECT_EQ((*log->Find("epoch"))[2], 3);
  EXPECT_EQ((*log->Find("val_loss"))[0], 0.5);
  EXPECT_TRUE(std::isnan((*log->Find("val_loss"))[1]));
  EXPECT_TRUE(std::isnan((*log->Find("val_loss"))[2]));
  EXPECT_EQ(log->Unit("val_loss"), "eV/atom");
  EXPECT_EQ(log->Unit("epoch"), "");
  EXPECT_EQ(log->Find("train_loss"), nullptr);
}

TEST(TrainingLogTest, SaysWhereATableIsBroken) {
  EXPECT_THAT(Read("a\tb\n").status().message(), HasSubstr("log.tsv:1: no column \"epoch\""));
  EXPECT_THAT(Read("epoch\tb\n1\n").status().message(), HasSubstr("log.tsv:2: 1 columns"));
  EXPECT_THAT(Read("epoch\tb\n1\tx\n").status().message(), HasSubstr("log.tsv:2: b is \"x\""));
  EXPECT_TRUE(absl::IsNotFound(ReadTrainingLog("none").status()));
}

}  // namespace
}  // namespace rutile
