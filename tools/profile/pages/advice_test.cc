#include "tools/profile/pages/advice.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/profile/record_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Returns the advice of that name, or "".
std::string Said(const ProfileRecord& record, const std::string& name) {
  for (const Advice& advice : Advise(record, MakeStageTable(record, PlainPeaks()))) {
    if (advice.name == name) return advice.what + " [" + advice.why + "]";
  }
  return "";
}

TEST(AdviceTest, WorkersThatCannotHelp) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "num_workers"), "");
  record.command.push_back("--num_workers=2");
  EXPECT_THAT(Said(record, "num_workers"), HasSubstr("wait for data is 1.0 %"));
}

TEST(AdviceTest, WaitingForData) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "wait_for_data"), "");
  SetSelfTime("wait_for_data", 0.2, &record);
  EXPECT_THAT(Said(record, "wait_for_data"), HasSubstr("--num_workers=2"));
  EXPECT_THAT(Said(record, "wait_for_data"), HasSubstr("10 %"));
}

TEST(AdviceTest, WhatIsComputedAgainAndAgain) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "features_again"), "");
  SetSelfTime("make_batch/features", 0.2, &record);
  EXPECT_THAT(Said(record, "features_again"), HasSubstr("--cached_features"));
  SetSelfTime("step/search", 0.11, &record);
  EXPECT_THAT(Said(record, "neighbors_again"), HasSubstr("5.5 %"));
  record.command.push_back("--cache_neighbors=true");
  EXPECT_EQ(Said(record, "neighbors_again"), "");
}

TEST(AdviceTest, WhatCouldHaveBeenPrepared) {
  ProfileRecord record = TrainRecord();
  SetSelfTime("parse", 0.1, &record);
  SetSelfTime("validation/search", 0.35, &record);  // not once, but in each validation
  EXPECT_EQ(Said(record, "prepare"), "");
  SetSelfTime("search", 0.35, &record);
  EXPECT_THAT(Said(record, "prepare"), HasSubstr("22 %"));
}

TEST(AdviceTest, StepsThatAreTooSmall) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "batch_size"), "");
  SetSelfTime("optimizer", 0.35, &record);
  EXPECT_THAT(Said(record, "batch_size"), HasSubstr("18 % beside 55 %"));
}

TEST(AdviceTest, ValidationCheckpointsPlots) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "validation"), "");
  SetSelfTime("validation/network", 0.6, &record);
  EXPECT_THAT(Said(record, "validation"), HasSubstr("30 %"));
  SetSelfTime("checkpoint", 0.11, &record);
  EXPECT_THAT(Said(record, "checkpoint"), HasSubstr("--save_interval"));
  EXPECT_EQ(Said(record, "plot"), "");
}

TEST(AdviceTest, ProcessorsAndMemory) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "threads"), "");
  record.cpu_s = 2.1;
  EXPECT_THAT(Said(record, "threads"), HasSubstr("1.1 of 2 processors"));
  EXPECT_EQ(Said(record, "memory"), "");
  record.peak_rss_bytes = 7000000000;
  EXPECT_THAT(Said(record, "memory"), HasSubstr("7 GB of 8 GB"));
}

TEST(AdviceTest, ThreadsThatWaitForEachOther) {
  ProfileRecord record = TrainRecord();
  EXPECT_EQ(Said(record, "wait_for_threads"), "");
  SetSelfTime("step/network/wait_for_threads", 0.4, &record);
  EXPECT_THAT(Said(record, "wait_for_threads"), HasSubstr("20 %"));
}

// A stage with less than 3 % of the whole time has 6 % of the time that flags can change.
TEST(AdviceTest, SharesAreOfTheTimeAfterStartup) {
  ProfileRecord record = TrainRecord();
  SetSelfTime("wait_for_data", 0.12, &record);
  SetSelfTime("startup", 2.5, &record);
  record.data.stages[0].self_s += 2.5;
  record.data.wall_s += 2.5;
  EXPECT_THAT(Said(record, "wait_for_data"), HasSubstr("6.0 %"));
  EXPECT_THAT(Said(record, "startup"), HasSubstr("56 % of 4.5 s"));
  EXPECT_THAT(BottleneckText(record, MakeStageTable(record, PlainPeaks())),
              HasSubstr("train spends 50 % of its time after startup in step/network"));
  EXPECT_EQ(AdviceBasis(MakeStageTable(record, PlainPeaks())), "of the 2 s between startup and exit");
  EXPECT_EQ(AdviceBasis(MakeStageTable(TrainRecord(), PlainPeaks())), "");
}

TEST(AdviceTest, WarningsOfTheMachineComeFirst) {
  ProfileRecord record = TrainRecord();
  record.machine.warnings = {"reference BLAS is ten times slower than OpenBLAS: install libopenblas0"};
  const auto all = Advise(record, MakeStageTable(record, PlainPeaks()));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().name, "machine");
}

TEST(AdviceTest, OtherToolsAreNotToldOfTraining) {
  ProfileRecord record = TrainRecord();
  record.tool = "featurize";
  SetSelfTime("wait_for_data", 0.2, &record);
  SetSelfTime("validation/network", 0.6, &record);
  EXPECT_EQ(Said(record, "wait_for_data"), "");
  EXPECT_EQ(Said(record, "validation"), "");
}

TEST(AdviceTest, TheBottleneckIsTheLargestStage) {
  const ProfileRecord record = TrainRecord();
  EXPECT_EQ(BottleneckText(record, MakeStageTable(record, PlainPeaks())),
            "train spends 50 % of its time in step/network, 500 k atoms/s, 40 Gflop/s, 10 GB/s, 50 % of the limit "
            "that memory sets (fp32, 2 processors)");
  EXPECT_EQ(BottleneckText(ProfileRecord(), StageTable()), " recorded no stages");
  ProfileRecord waiting = TrainRecord();
  SetSelfTime("validation/network/wait_for_threads", 0.7, &waiting);
  EXPECT_EQ(BottleneckText(waiting, MakeStageTable(waiting, MachinePeaks())),
            "train spends 60 % of its time in validation/network (58 % of that waits for other threads)");
}

}  // namespace
}  // namespace rutile
