#include "lib/potential/model/task_options.h"

#include <cmath>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/setting_record.h"
#include "lib/testing/error_names.h"

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
  EXPECT_THAT(config, Not(Contains(Key("zbl"))));
  EXPECT_THAT(config, Not(Contains(Key("force_fraction"))));
  options.loss.kind = LossKind::kHuber;
  options.force_sampling.fraction = 1.0 / 3;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  config = ResumeConfigOf(options);
  EXPECT_THAT(config, Contains(Pair("huber_delta_force", "0.1")));
  EXPECT_THAT(config, Contains(Pair("force_fraction", "0.3333333333333333")));
  EXPECT_THAT(config, Contains(Pair("force_sample_unit", "atom")));
}

// What testdata/compat/unreleased/forces has in its checkpoints: a resumed run compares texts.
TEST(ResumeConfigOfTest, TextsAreThoseOfOlderCheckpoints) {
  AtomisticTaskOptions options;
  options.hidden = {3};
  options.feature_scaling = FeatureScalingKind::kPerSpecies;
  options.loss.energy_weight = 0.9;
  options.loss.force_weight = 0.1;
  options.force_sampling.fraction = 0.5;
  EXPECT_EQ(ResumeConfigOf(options), (std::map<std::string, std::string>{{"activation", "tanh"},
                                                                         {"energy_scaling", "true"},
                                                                         {"energy_weight", "0.9"},
                                                                         {"feature_scaling", "species"},
                                                                         {"force_fraction", "0.5"},
                                                                         {"force_min_structures_per_epoch", "1"},
                                                                         {"force_resample_num_epochs", "1"},
                                                                         {"force_sample_unit", "structure"},
                                                                         {"force_scale_unbiased", "false"},
                                                                         {"force_weight", "0.1"},
                                                                         {"hidden", "3"},
                                                                         {"loss", "rmse"},
                                                                         {"precision", "fp32"},
                                                                         {"stress_weight", "0"}}));
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
  EXPECT_THAT(error_with("loss", "l1"), ErrorNames({"\"loss\" is \"l1\"", "rmse, mse, huber"}));
  EXPECT_THAT(error_with("force_weight", "x"), ErrorNames({"\"force_weight\" is \"x\"", "a number"}));
  EXPECT_THAT(error_with("huber_delta", "-1"), ErrorNames({"huber_delta is -1", "above 0"}));
  EXPECT_EQ(std::string(LossOfConfig({}).status().message()), "there is no \"loss\"");
  EXPECT_EQ(std::string(LossOfConfig({{"loss", "mse"}}).status().message()), "there is no \"energy_weight\"");
}

// What a config holds of model and sampling is read back, too: each of its texts is one that its row takes.
TEST(ResumeConfigOfTest, RowsReadWhatTheyWrite) {
  AtomisticTaskOptions options;
  options.hidden = {};
  options.activation = Activation::kTwist;
  options.feature_scaling = FeatureScalingKind::kPerSpecies;
  options.scale_energies = false;
  options.atomic_energies = {{8, -432.5}, {22, 1.0 / 3}};
  options.mixed_precision = true;
  options.zbl = {ZblOptions::Kind::kRadii, 0.1, 1.0 / 3};
  options.loss.force_weight = 0.1;
  options.force_sampling.fraction = 0.5;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  options.force_sampling.min_structures = 9;
  options.compile.preset = CompilePreset::kMaxAutotune;
  const std::map<std::string, std::string> config = ResumeConfigOf(options);
  AtomisticTaskOptions read;
  read.atomic_energies = {{1, 0}};
  ASSERT_EQ(ReadRecord(AtomisticTaskSettings(), config, &read), absl::OkStatus());
  read.force_sampling.fraction = 0.1;  // a sample, so that the rows of one count
  ASSERT_EQ(ReadRecord(ForceSamplingSettings(), config, &read.force_sampling), absl::OkStatus());
  read.compile.preset = CompilePreset::kMaxAutotune;
  ASSERT_EQ(ReadRecord(CompileSettings(), config, &read.compile), absl::OkStatus());
  read.loss = LossOfConfig(config).value();
  EXPECT_EQ(ResumeConfigOf(read), config);
  EXPECT_EQ(read.atomic_energies, options.atomic_energies);
  EXPECT_EQ(read.zbl.outer, options.zbl.outer);
  EXPECT_EQ(config.at("hidden"), "");
  EXPECT_EQ(config.at("precision"), "bf16-mixed");
}

TEST(SettingsOfPotentialsTest, TextThatMeansNothing) {
  AtomisticTaskOptions options;
  const auto error = [&](const char* name, const char* text) {
    return FindSetting(AtomisticTaskSettings(), name)->Set(text, &options);
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(error("hidden", "15,x"), ErrorNames(kInvalid, {"\"x\"", "15,15"}));
  EXPECT_THAT(error("hidden", "15,"), ErrorNames(kInvalid, {"\"\"", "15,15"}));
  EXPECT_THAT(error("activation", "relu"), ErrorNames(kInvalid, {"relu", "linear, tanh, sigmoid, mtanh, twist, silu"}));
  EXPECT_THAT(error("feature_scaling", "max"), ErrorNames(kInvalid, {"max", "none, pooled, species"}));
  for (const char* text : {"8", "0=1", "256=1", "8=x"}) {
    EXPECT_THAT(error("atomic_energies", text), ErrorNames(kInvalid, {text, "8=-432.5"}));
  }
  EXPECT_THAT(error("zbl", "1"), ErrorNames(kInvalid, {"\"1\"", "auto", "0.7,1.4"}));
  EXPECT_THAT(error("precision", "fp16-mixed"), ErrorNames(kInvalid, {"fp32, fp64 or bf16-mixed"}));
  EXPECT_EQ(options.hidden, AtomisticTaskOptions().hidden) << "what means nothing changes nothing";
}

TEST(LossOptionsTest, Ranges) {
  EXPECT_EQ(CheckLossOptions({}), absl::OkStatus());
  const auto error = [](double LossOptions::*member, double value) {
    LossOptions options;
    options.*member = value;
    return CheckLossOptions(options);
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(error(&LossOptions::stress_weight, -1), ErrorNames(kInvalid, {"stress_weight is -1", "0 or more"}));
  EXPECT_THAT(error(&LossOptions::force_weight, INFINITY), ErrorNames(kInvalid, {"force_weight is inf"}));
  EXPECT_THAT(error(&LossOptions::force_delta, 0), ErrorNames(kInvalid, {"huber_delta_force is 0", "above 0"}));
  EXPECT_THAT(error(&LossOptions::energy_weight, 0), ErrorNames(kInvalid, {"nothing is learned"}));
}

// "fixed" keeps the first sample, whatever the number of epochs says.
TEST(ForceSamplingOptionsTest, ASampleStaysOrIsDrawnAgain) {
  ForceSamplingOptions options;
  const Setting<ForceSamplingOptions>* draws = FindSetting(ForceSamplingSettings(), "force_sampling");
  options.resample_epochs = 3;
  ASSERT_EQ(draws->Set("random", &options), absl::OkStatus());
  EXPECT_EQ(options.resample_epochs, 3);
  ASSERT_EQ(draws->Set("fixed", &options), absl::OkStatus());
  EXPECT_EQ(options.resample_epochs, 0);
  EXPECT_THAT(draws->Set("never", &options), ErrorNames(absl::StatusCode::kInvalidArgument, {"random or fixed"}));
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
