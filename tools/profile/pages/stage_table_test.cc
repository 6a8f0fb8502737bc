#include "tools/profile/pages/stage_table.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/profile/record_testing.h"

namespace rutile {
namespace {

const StageRow& Row(const StageTable& table, const std::string& path, const std::string& thread = "main") {
  for (const StageRow& row : table.rows) {
    if (row.path == path && row.thread == thread) return row;
  }
  ADD_FAILURE() << "no row " << path;
  return table.rows.front();
}

TEST(StageTableTest, StagesOfTheMainThreadAddUp) {
  const StageTable table = MakeStageTable(TrainRecord(), PlainPeaks());
  EXPECT_NEAR(table.stages_s, table.wall_s, 1e-12);
  EXPECT_NEAR(table.other_s, 0.3, 1e-12);
  double share = 0;
  for (const StageRow& row : table.rows) share += row.main ? row.share : 0;
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_EQ(table.rows.front().path, "step/network");
  EXPECT_FALSE(table.rows.back().main);
}

TEST(StageTableTest, ThreadsOfOneNameAreOneRow) {
  const StageTable table = MakeStageTable(TrainRecord(), PlainPeaks());
  const StageRow& workers = Row(table, "network", "worker");
  EXPECT_EQ(workers.num_threads, 2);
  EXPECT_NEAR(workers.self_s, 0.6, 1e-12);
  EXPECT_NEAR(workers.share, 0.15, 1e-12);
  EXPECT_EQ(Row(table, "make_batch", "loader").num_threads, 1);
}

TEST(StageTableTest, RatesAndRoofline) {
  const StageTable table = MakeStageTable(TrainRecord(), PlainPeaks());
  const StageRow& row = Row(table, "step/network");
  EXPECT_EQ(RatesText(row), "500 k atoms/s, 40 Gflop/s, 10 GB/s");
  EXPECT_DOUBLE_EQ(row.roofline.intensity, 4);
  EXPECT_TRUE(row.roofline.memory_is_limit);
  EXPECT_DOUBLE_EQ(row.roofline.share, 0.5);
  EXPECT_EQ(RatesText(Row(table, "optimizer")), "");
}

// Helpers count what they do for the main thread, which waits for them in the same stage.
TEST(StageTableTest, WhatHelpersCountBelongsToTheStage) {
  ProfileRecord record = TrainRecord();
  for (ProfileStage& stage : record.data.stages) {
    if (stage.thread >= 2) stage.counters[static_cast<int>(Counter::kPairs)] = 1500;
  }
  const StageTable table = MakeStageTable(record, PlainPeaks());
  // The counter is divided by self time: 1 s of 1.5 s in step, 0.5 s in validation.
  EXPECT_NEAR(Row(table, "step/network").counters[static_cast<int>(Counter::kPairs)], 2000, 1e-9);
  EXPECT_NEAR(Row(table, "validation/network").counters[static_cast<int>(Counter::kPairs)], 1000, 1e-9);
}

TEST(StageTableTest, WaitingForHelpersIsPartOfTheTimeOfARate) {
  ProfileRecord record = TrainRecord();
  SetSelfTime("step/network/wait_for_threads", 0.25, &record);
  const StageRow row = Row(MakeStageTable(record, PlainPeaks()), "step/network");
  EXPECT_NEAR(row.self_s, 1, 1e-12);
  EXPECT_EQ(RatesText(row), "400 k atoms/s, 32 Gflop/s, 8 GB/s");
}

TEST(StageTableTest, ShareOfAStageWhereverItIs) {
  const StageTable table = MakeStageTable(TrainRecord(), PlainPeaks());
  EXPECT_NEAR(ShareOfStage(table, Stage::kNetwork), 0.75, 1e-12);
  EXPECT_NEAR(ShareOfStage(table, Stage::kMakeBatch), 0, 1e-12);  // the loader's, not the main thread's
}

TEST(StageTableTest, AnEmptyRecordIsAnEmptyTable) {
  const StageTable table = MakeStageTable(ProfileRecord(), MachinePeaks());
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.stages_s, 0);
}

TEST(StageTableTest, NumbersForPeople) {
  EXPECT_EQ(WithPrefix(0), "0");
  EXPECT_EQ(WithPrefix(999.4), "999");
  EXPECT_EQ(WithPrefix(999.6), "1 k");
  EXPECT_EQ(WithPrefix(1234567), "1.23 M");
  EXPECT_EQ(BytesText(0), "");
  EXPECT_EQ(BytesText(301000000), "301 MB");
  EXPECT_EQ(BytesText(1500), "1.5 kB");
  EXPECT_EQ(BytesText(25276502016), "25.3 GB");
  EXPECT_EQ(SecondsText(12.345), "12.3 s");
  EXPECT_EQ(SecondsText(0.00456), "4.56 ms");
  EXPECT_EQ(SecondsText(4.56e-6), "4.56 us");
  EXPECT_EQ(SecondsText(1234.5), "1234 s");
}

}  // namespace
}  // namespace rutile
