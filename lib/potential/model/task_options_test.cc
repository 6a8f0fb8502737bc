#include "lib/potential/model/task_options.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(ResumeConfigOfTest, NamesWhatDecides) {
  AtomisticTaskOptions options;
  options.hidden = {16, 8};
  options.atomic_energies = {{8, -432.5}, {22, -1604.6}};
  options.loss.force_weight = 0.1;
  options.loss.energy_weight = 0.9;
  auto config = ResumeConfigOf(options);
  EXPECT_THAT(config, Contains(Pair("hidden", "16,8")));
  EXPECT_THAT(config, Contains(Pair("activation", "tanh")));
  EXPECT_THAT(config, Contains(Pair("atomic_energies", "8=-432.5,22=-1604.6")));
  EXPECT_THAT(config, Contains(Pair("loss", "rmse")));
  EXPECT_THAT(config, Contains(Pair("force_weight", "0.1")));
  EXPECT_THAT(config, Contains(Pair("energy_weight", "0.9")));
  EXPECT_THAT(config, Not(Contains(Key("huber_delta"))));
  EXPECT_THAT(config, Not(Contains(Key("force_fraction"))));
  options.loss.kind = LossKind::kHuber;
  options.force_sampling.fraction = 1.0 / 3;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  config = ResumeConfigOf(options);
  EXPECT_THAT(config, Contains(Pair("huber_delta_force", "0.1")));
  EXPECT_THAT(config, Contains(Pair("force_fraction", "0.3333333333333333")));
  EXPECT_THAT(config, Contains(Pair("force_sample_unit", "atom")));
}

// Threads, caches and the angular method change no number beyond rounding.
TEST(ResumeConfigOfTest, LeavesOutHowTheWorkIsDone) {
  AtomisticTaskOptions options, other;
  other.angular = AngularMethod::kTriplets;
  other.cached_features = true;
  other.num_threads = 7;
  EXPECT_EQ(ResumeConfigOf(options), ResumeConfigOf(other));
}

TEST(LossOfConfigTest, IsTheReverse) {
  AtomisticTaskOptions options;
  options.loss.kind = LossKind::kHuber;
  options.loss.energy_weight = 0.9;
  options.loss.force_weight = 0.1;
  options.loss.force_delta = 0.3;
  options.loss.force_scale_unbiased = true;
  options.force_sampling.fraction = 0.5;
  const auto loss = LossOfConfig(ResumeConfigOf(options));
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_EQ(loss->kind, LossKind::kHuber);
  EXPECT_EQ(loss->energy_weight, 0.9);
  EXPECT_EQ(loss->force_weight, 0.1);
  EXPECT_EQ(loss->stress_weight, 0);
  EXPECT_EQ(loss->force_delta, 0.3);
  EXPECT_EQ(loss->energy_delta, LossOptions().energy_delta);
  EXPECT_TRUE(loss->force_scale_unbiased);

  const auto error_with = [&](const std::string& key, const std::string& value) {
    std::map<std::string, std::string> config = ResumeConfigOf(options);
    config[key] = value;
    return std::string(LossOfConfig(config).status().message());
  };
  EXPECT_EQ(error_with("loss", "l1"), "\"loss\" is \"l1\", expected rmse, mse or huber");
  EXPECT_EQ(error_with("force_weight", "x"), "\"force_weight\" is \"x\", expected a number that is not negative");
  EXPECT_EQ(error_with("huber_delta", "-1"), "\"huber_delta\" is \"-1\", expected a number that is not negative");
  EXPECT_EQ(std::string(LossOfConfig({}).status().message()), "there is no \"loss\"");
  EXPECT_EQ(std::string(LossOfConfig({{"loss", "mse"}}).status().message()), "there is no \"energy_weight\"");
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

// Runs from before there were presets, and runs whose presets compute the default's bits, can resume each other.
TEST(CompileOptionsTest, OnlyMaxAutotuneChangesTheConfig) {
  AtomisticTaskOptions options;
  const auto before = ResumeConfigOf(options);
  options.compile.preset = CompilePreset::kReduceOverhead;
  options.compile.batch_size = 7;
  options.compile.cache_directory = "x";
  EXPECT_EQ(ResumeConfigOf(options), before);
  options.compile.preset = CompilePreset::kMaxAutotune;
  EXPECT_EQ(ResumeConfigOf(options).at("compile_preset"), "max-autotune");
}

}  // namespace
}  // namespace rutile
