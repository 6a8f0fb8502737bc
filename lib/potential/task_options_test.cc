#include "lib/potential/task_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(CourseOfTest, NamesWhatDecides) {
  AtomisticTaskOptions options;
  options.hidden = {16, 8};
  options.atomic_energies = {{8, -432.5}, {22, -1604.6}};
  options.loss.force_weight = 0.1;
  options.loss.energy_weight = 0.9;
  auto course = CourseOf(options);
  EXPECT_THAT(course, Contains(Pair("hidden", "16,8")));
  EXPECT_THAT(course, Contains(Pair("activation", "tanh")));
  EXPECT_THAT(course, Contains(Pair("atomic_energies", "8=-432.5,22=-1604.6")));
  EXPECT_THAT(course, Contains(Pair("loss", "rmse")));
  EXPECT_THAT(course, Contains(Pair("force_weight", "0.1")));
  EXPECT_THAT(course, Contains(Pair("energy_weight", "0.9")));
  EXPECT_THAT(course, Not(Contains(Key("huber_delta"))));
  EXPECT_THAT(course, Not(Contains(Key("force_fraction"))));
  options.loss.kind = LossKind::kHuber;
  options.force_sampling.fraction = 1.0 / 3;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  course = CourseOf(options);
  EXPECT_THAT(course, Contains(Pair("huber_delta_force", "0.1")));
  EXPECT_THAT(course, Contains(Pair("force_fraction", "0.3333333333333333")));
  EXPECT_THAT(course, Contains(Pair("force_sample_unit", "atom")));
}

// Threads, caches and the way of summing angles change no number beyond rounding.
TEST(CourseOfTest, LeavesOutHowTheWorkIsDone) {
  AtomisticTaskOptions options, other;
  other.angular = AngularMethod::kTriplets;
  other.cached_features = true;
  other.num_threads = 7;
  EXPECT_EQ(CourseOf(options), CourseOf(other));
}

TEST(CompileOptionsTest, NamesGoBothWays) {
  for (const char* name : {"default", "reduce-overhead", "max-autotune"}) {
    const auto preset = ParseCompilePreset(name);
    ASSERT_TRUE(preset.ok()) << preset.status();
    EXPECT_EQ(CompilePresetName(*preset), name);
  }
  EXPECT_EQ(ParseCompilePreset("fast").status().message(),
            "compile_preset=fast: expected default, reduce-overhead or max-autotune");
}

TEST(CompileOptionsTest, BatchSize) {
  EXPECT_TRUE(CheckCompileOptions({}).ok());
  CompileOptions options;
  options.batch_size = 0;
  EXPECT_EQ(CheckCompileOptions(options).message(), "batch_size=0: expected at least 1");
}

// Runs of before the presets, and those of presets with the default's bits, can be resumed by one another.
TEST(CompileOptionsTest, OnlyMaxAutotuneDecidesTheCourse) {
  AtomisticTaskOptions options;
  const auto before = CourseOf(options);
  options.compile.preset = CompilePreset::kReduceOverhead;
  options.compile.batch_size = 7;
  options.compile.cache_directory = "x";
  EXPECT_EQ(CourseOf(options), before);
  options.compile.preset = CompilePreset::kMaxAutotune;
  EXPECT_EQ(CourseOf(options).at("compile_preset"), "max-autotune");
}

}  // namespace
}  // namespace rutile
