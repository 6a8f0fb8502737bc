#include "lib/profile/machine_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/profile/machine_facts.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string NewDirectory() {
  std::string path = absl::StrCat(::testing::TempDir(), "/peaksXXXXXX");
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  return path;
}

PeakOptions Quick() {
  PeakOptions options;
  options.budget_s = 0.05;
  return options;
}

TEST(MachinePeaksTest, MeasuresWhatIsAskedFor) {
  PeakOptions options = Quick();
  options.temporary_directory = NewDirectory();
  int products = 0;
  options.matmul = [&](int n, bool bf16) {
    ++products;
    EXPECT_GT(n, 100);
    return !bf16;
  };
  const absl::StatusOr<MachinePeaks> peaks = FindMachinePeaks(FindMachineFacts(), options);
  ASSERT_TRUE(peaks.ok()) << peaks.status();
  EXPECT_FALSE(peaks->cached);
  for (const double rate : {peaks->fma_fp32_one, peaks->fma_fp32_all, peaks->fma_fp64_one, peaks->fma_fp64_all,
                            peaks->memory_read_one, peaks->memory_read_all, peaks->memory_copy_all}) {
    EXPECT_GT(rate, 1e7);
    EXPECT_LT(rate, 1e16);
  }
  EXPECT_GT(peaks->disk_write, 1e4);
  EXPECT_GT(peaks->disk_read, 1e4);
  EXPECT_GT(peaks->matmul_fp32, 0);
  EXPECT_EQ(peaks->matmul_bf16, 0) << "the caller cannot";
  EXPECT_GE(products, 3);
}

TEST(MachinePeaksTest, LeavesOutTheRest) {
  const absl::StatusOr<MachinePeaks> peaks = FindMachinePeaks(FindMachineFacts(), Quick());
  ASSERT_TRUE(peaks.ok()) << peaks.status();
  EXPECT_EQ(peaks->disk_write, 0);
  EXPECT_EQ(peaks->matmul_fp32, 0);
}

TEST(MachinePeaksTest, SecondCallIsFromTheCache) {
  PeakOptions options = Quick();
  options.cache_directory = NewDirectory() + "/below/rutile";
  const MachineFacts facts = FindMachineFacts();
  const absl::StatusOr<MachinePeaks> first = FindMachinePeaks(facts, options);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->cached);
  const absl::StatusOr<MachinePeaks> second = FindMachinePeaks(facts, options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(second->fma_fp32_all, first->fma_fp32_all);
  // An entry for another machine, or with other measured parts, is not used.
  MachineFacts other = facts;
  other.machine.cpu += " II";
  EXPECT_FALSE(FindMachinePeaks(other, options)->cached);
  options.matmul = [](int, bool) { return false; };
  EXPECT_FALSE(FindMachinePeaks(facts, options)->cached);
}

TEST(MachinePeaksTest, WhatABusyMachineGaveIsMeasuredAgainAndTheHighestKept) {
  const MachineFacts facts = FindMachineFacts();
  const int processors = facts.machine.processors;
  PeakOptions options = Quick();
  options.cache_directory = NewDirectory();
  options.load = 4.0 * processors;
  const absl::StatusOr<MachinePeaks> busy = FindMachinePeaks(facts, options);
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_EQ(busy->load, options.load);
  EXPECT_TRUE(IsBusy(busy->load, processors));
  EXPECT_TRUE(FindMachinePeaks(facts, options)->cached) << "no calmer than before";
  options.load = 0.1 * processors;
  const absl::StatusOr<MachinePeaks> calm = FindMachinePeaks(facts, options);
  ASSERT_TRUE(calm.ok()) << calm.status();
  EXPECT_FALSE(calm->cached);
  EXPECT_FALSE(IsBusy(calm->load, processors));
  EXPECT_GE(calm->fma_fp32_all, busy->fma_fp32_all);
  EXPECT_GE(calm->memory_read_one, busy->memory_read_one);
  EXPECT_TRUE(FindMachinePeaks(facts, options)->cached);
  options.exceeded = true;
  EXPECT_FALSE(FindMachinePeaks(facts, options)->cached);
  EXPECT_TRUE(FindMachinePeaks(facts, options)->cached) << "once is enough";
  options.exceeded = false;
  options.again = true;
  options.load = 4.0 * processors;
  const absl::StatusOr<MachinePeaks> again = FindMachinePeaks(facts, options);
  EXPECT_FALSE(again->cached);
  EXPECT_EQ(again->load, calm->load) << "the peaks are those of the calm machine";
  EXPECT_GE(again->fma_fp32_all, calm->fma_fp32_all);
}

TEST(MachinePeaksTest, DamagedEntryIsMeasuredAnew) {
  PeakOptions options = Quick();
  options.cache_directory = NewDirectory();
  const MachineFacts facts = FindMachineFacts();
  ASSERT_TRUE(FindMachinePeaks(facts, options).ok());
  const std::string command =
      absl::StrCat("sed -i 's/fma_fp32_one\":[0-9]/fma_fp32_one\":77/' ", options.cache_directory, "/*.peaks");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_FALSE(FindMachinePeaks(facts, options)->cached);
  EXPECT_TRUE(FindMachinePeaks(facts, options)->cached);
}

TEST(MachinePeaksTest, ErrorsNameThePath) {
  PeakOptions options = Quick();
  options.temporary_directory = "/nowhere/at/all";
  EXPECT_THAT(std::string(FindMachinePeaks(FindMachineFacts(), options).status().message()),
              HasSubstr("/nowhere/at/all"));
  options.temporary_directory = "";
  options.cache_directory = "/proc/rutile";
  EXPECT_THAT(std::string(FindMachinePeaks(FindMachineFacts(), options).status().message()), HasSubstr("/proc/rutile"));
}

TEST(MachinePeaksTest, JsonRoundTrip) {
  MachinePeaks peaks;
  peaks.fma_fp32_one = 1.5e11, peaks.memory_copy_all = 2e10, peaks.disk_read = 1e8, peaks.seconds = 2.75;
  peaks.cached = true;
  MachinePeaks read;
  ASSERT_TRUE(ParseMachinePeaks(MachinePeaksJson(peaks), &read));
  EXPECT_EQ(read.fma_fp32_one, 1.5e11);
  EXPECT_EQ(MachinePeaksJson(read), MachinePeaksJson(peaks));
  for (const char* bad : {"", "[]", "{\"disk_read\": \"x\"}", "{\"cached\": 1}"}) {
    EXPECT_FALSE(ParseMachinePeaks(bad, &read));
  }
}

}  // namespace
}  // namespace rutile
