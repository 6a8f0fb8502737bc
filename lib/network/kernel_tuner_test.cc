#include "lib/network/kernel_tuner.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

namespace fs = std::filesystem;

const NetworkShape kShape = {2, 10, {20, 5}, Activation::kTanh};

class KernelTunerTest : public testing::Test {
 protected:
  KernelTunerTest()
      : directory_(std::string(testing::TempDir()) + "/" +
                   testing::UnitTest::GetInstance()->current_test_info()->name() + "/cache/rutile") {
    fs::remove_all(fs::path(directory_).parent_path());
    options_.atoms = {40, 90};
    options_.batch_size = 8;
    options_.budget = absl::Milliseconds(20);
    options_.cache_directory = directory_;
  }

  TunedKernel Tune() {
    const auto tuned = TuneKernel<float>(kShape, nullptr, options_);
    EXPECT_TRUE(tuned.ok()) << tuned.status();
    return *tuned;
  }

  std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(directory_)) entries.push_back(entry.path());
    return entries;
  }

  const std::string directory_;
  TuneOptions options_;
};

TEST_F(KernelTunerTest, WhatWasFoundIsKeptForItsOwnerAlone) {
  const TunedKernel first = Tune();
  EXPECT_FALSE(first.cached);
  EXPECT_GE(first.speedup, 1);
  struct stat info;
  ASSERT_EQ(stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  const TunedKernel second = Tune();
  EXPECT_TRUE(second.cached);
  EXPECT_TRUE(second.plan == first.plan);
  EXPECT_EQ(Entries().size(), 1);
}

TEST_F(KernelTunerTest, AnEntryIsForOneShapeBatchPrecisionOrderAndNumberOfThreads) {
  Tune();
  options_.batch_size = 9;
  EXPECT_FALSE(Tune().cached);
  options_.second_order = true;
  EXPECT_FALSE(Tune().cached);
  options_.atoms = {40, 91};
  EXPECT_FALSE(Tune().cached);
  EXPECT_FALSE(TuneKernel<double>(kShape, nullptr, options_)->cached);
  ThreadPool pool(2);
  EXPECT_FALSE(TuneKernel<float>(kShape, &pool, options_)->cached);
  NetworkShape other = kShape;
  other.activation = Activation::kSilu;
  EXPECT_FALSE(TuneKernel<float>(other, nullptr, options_)->cached);
  other.hidden = {20, 6};
  EXPECT_FALSE(TuneKernel<float>(other, nullptr, options_)->cached);
  options_.rounding = true;
  EXPECT_FALSE(Tune().cached);
  EXPECT_EQ(Entries().size(), 9);
}

TEST_F(KernelTunerTest, MixedPrecisionIsOfMatrices) {
  options_.rounding = true;
  const TunedKernel tuned = Tune();
  EXPECT_TRUE(tuned.plan == KernelPlan() || tuned.plan.algorithm == NetworkAlgorithm::kGemm);
}

TEST_F(KernelTunerTest, ADamagedEntryIsMadeAnew) {
  Tune();
  const fs::path path = Entries()[0];
  std::string text;
  {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (size_t at = 0; at < text.size(); at += 7) {
    SCOPED_TRACE(at);
    std::string damaged = text;
    damaged[at] ^= 1;
    std::ofstream(path) << damaged;
    EXPECT_FALSE(Tune().cached);
    EXPECT_TRUE(Tune().cached);
    if (at > 100) at += 20;
  }
  for (const std::string& damaged : {std::string(), text.substr(0, text.size() / 2), text + text}) {
    std::ofstream(path) << damaged;
    EXPECT_FALSE(Tune().cached);
  }
}

TEST_F(KernelTunerTest, ACacheThatCannotBeWrittenIsNamed) {
  options_.cache_directory = "/proc/none/rutile";
  const auto tuned = TuneKernel<float>(kShape, nullptr, options_);
  EXPECT_FALSE(tuned.ok());
  EXPECT_NE(tuned.status().message().find("/proc/none"), std::string::npos) << tuned.status();
  options_.cache_directory = "";
  EXPECT_FALSE(Tune().cached);
}

TEST_F(KernelTunerTest, NoAtoms) {
  options_.atoms = {0, 0};
  options_.cache_directory = "";
  for (const bool second_order : {false, true}) {
    options_.second_order = second_order;
    Tune();
  }
}

TEST(DefaultCacheDirectoryTest, FollowsTheEnvironment) {
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/x/rutile");
  setenv("XDG_CACHE_HOME", "relative", 1);  // the XDG specification says to ignore relative paths
  setenv("HOME", "/nobody", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/nobody/.cache/rutile");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(DefaultCacheDirectory(), "");
}

TEST(DescribeTest, SaysWhatWasChosenAndGained) {
  EXPECT_EQ(Describe(TunedKernel()), "the default plan is the fastest");
  EXPECT_EQ(Describe({{64, GradientForm::kTransposed}, 1.084, true}),
            "block_atoms=64 gradients=transposed, 1.08 times as fast as the default plan (found by an earlier run)");
}

}  // namespace
}  // namespace rutile
