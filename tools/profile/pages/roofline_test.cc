#include "tools/profile/pages/roofline.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

MachinePeaks Peaks() {
  MachinePeaks peaks;
  peaks.fma_fp32_all = 100e9, peaks.fma_fp32_one = 50e9;
  peaks.fma_fp64_all = 40e9, peaks.fma_fp64_one = 20e9;
  peaks.memory_read_all = 20e9, peaks.memory_read_one = 15e9;
  return peaks;
}

// The ridge of this machine is at 5 flop per byte; below it memory is the limit.
TEST(RooflineTest, TheLimitIsTheLowerRoof) {
  const Roof roof{100e9, 20e9, ""};
  const RooflinePoint low = PlaceUnderRoof(roof, 10e9, 10e9, 1);
  EXPECT_DOUBLE_EQ(low.intensity, 1);
  EXPECT_TRUE(low.memory_is_limit);
  EXPECT_DOUBLE_EQ(low.share, 0.5);  // 10 of 20 GB/s: 10 of min(100, 1 x 20) Gflop/s
  const RooflinePoint high = PlaceUnderRoof(roof, 50e9, 1e9, 1);
  EXPECT_DOUBLE_EQ(high.intensity, 50);
  EXPECT_FALSE(high.memory_is_limit);
  EXPECT_DOUBLE_EQ(high.share, 0.5);
}

TEST(RooflineTest, WhatIsNotKnownIsNoLimit) {
  const Roof roof{100e9, 20e9, ""};
  EXPECT_EQ(PlaceUnderRoof(roof, 0, 0, 1).share, 0);
  EXPECT_EQ(PlaceUnderRoof(roof, 1e9, 1e9, 0).share, 0);
  EXPECT_EQ(PlaceUnderRoof({}, 1e9, 1e9, 1).share, 0);
  EXPECT_DOUBLE_EQ(PlaceUnderRoof(roof, 0, 10e9, 1).share, 0.5);
  EXPECT_EQ(PlaceUnderRoof(roof, 0, 10e9, 1).intensity, 0);
}

TEST(RooflineTest, TheRoofFollowsPrecisionAndProcessors) {
  ProfileRecord record;
  record.command = {"train", "data"};
  record.machine.machine.usable_processors = 4;
  record.data.wall_s = 10;
  record.cpu_s = 11;
  EXPECT_EQ(RoofOf(record, Peaks()).flop, 50e9);
  EXPECT_EQ(RoofOf(record, Peaks()).bytes, 15e9);
  EXPECT_EQ(RoofOf(record, Peaks()).what, "fp32, 1 processor");
  record.cpu_s = 30;
  record.command.push_back("--precision=fp64");
  EXPECT_EQ(RoofOf(record, Peaks()).flop, 40e9);
  EXPECT_EQ(RoofOf(record, Peaks()).what, "fp64, 4 processors");
}

TEST(RooflineTest, AllProcessorsAreNoSlowerThanOne) {
  ProfileRecord record;
  record.data.wall_s = 1;
  record.cpu_s = 2;
  MachinePeaks peaks = Peaks();
  peaks.fma_fp32_all = 30e9;
  EXPECT_EQ(RoofOf(record, peaks).flop, 50e9);
}

TEST(RooflineTest, MixedPrecisionIsLimitedByProductsInBf16) {
  ProfileRecord record;
  record.machine.machine.usable_processors = 2;
  record.command = {"train", "--precision=bf16-mixed"};
  record.data.wall_s = 1;
  record.cpu_s = 2;
  MachinePeaks peaks = Peaks();
  peaks.fma_fp32_all = 100e9;
  peaks.matmul_bf16 = 3000e9;
  EXPECT_EQ(RoofOf(record, peaks, Stage::kNetwork).flop, 3000e9);
  EXPECT_EQ(RoofOf(record, peaks, Stage::kNetwork).what, "bf16, 2 processors");
  // Convolutions, validations and descriptors are not rounded.
  for (const Stage stage : {Stage::kConv, Stage::kValidation, Stage::kDescriptor, Stage::kOther}) {
    EXPECT_EQ(RoofOf(record, peaks, stage).flop, 100e9) << StageName(stage);
  }
  record.cpu_s = 1;
  EXPECT_EQ(RoofOf(record, peaks, Stage::kNetwork).flop, 1500e9);
  // Stages that round by themselves have the roof of bf16.
  record.command = {"evaluate"};
  EXPECT_EQ(RoofOf(record, peaks, Stage::kScores).what, "fp32, 1 processor");
  EXPECT_EQ(RoofOf(record, peaks, Stage::kRoundedScores).what, "bf16, 1 processor");
  record.command = {"train", "--precision=bf16-mixed"};
  // The peak of bf16 is not used if it is not measured, or no faster.
  for (const double products : {0.0, 20e9}) {
    peaks.matmul_bf16 = products;
    EXPECT_EQ(RoofOf(record, peaks, Stage::kNetwork).flop, 50e9);
    EXPECT_EQ(RoofOf(record, peaks, Stage::kNetwork).what, "fp32, 1 processor");
  }
}

TEST(RooflineTest, CommandFlagReadsFlagsAsGflagsDoes) {
  const std::vector<std::string> command = {"train", "--a=1", "-b", "2", "--batch-size=3", "--a=4", "a=5"};
  EXPECT_EQ(CommandFlag(command, "a"), "4");
  EXPECT_EQ(CommandFlag(command, "b"), "2");
  EXPECT_EQ(CommandFlag(command, "batch_size"), "3");
  EXPECT_EQ(CommandFlag(command, "c"), "");
  EXPECT_EQ(CommandFlag({"train", "--a"}, "a"), "");
  EXPECT_EQ(CommandFlag({}, "a"), "");
}

}  // namespace
}  // namespace rutile
