#include "tools/train/flags/potential_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"
#include "tools/train/flags/loss_flags.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {
namespace {

using Given = std::vector<std::pair<const char*, const char*>>;

// The options as if these flags had been given, and no others.
absl::StatusOr<AtomisticTaskOptions> Parse(const Given& given) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : given) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  return AtomisticTaskOptionsFromFlags();
}

std::string Default(const char* flag) { return gflags::GetCommandLineFlagInfoOrDie(flag).default_value; }

TEST(PotentialFlagsTest, DefaultsAreThoseOfUsers) {
  EXPECT_EQ(Default("hidden"), "32,32");
  EXPECT_EQ(Default("activation"), "silu");
  EXPECT_EQ(Default("feature_scaling"), "species");
  EXPECT_EQ(Default("energy_scaling"), "true");
  EXPECT_EQ(Default("loss"), "rmse");
  EXPECT_EQ(Default("energy_weight"), "-1");
  EXPECT_EQ(Default("force_sampling"), "random");
  EXPECT_EQ(Default("force_sample_unit"), "structure");
  EXPECT_EQ(Parse({})->feature_scaling, FeatureScalingKind::kPerSpecies);
}

TEST(PotentialFlagsTest, TheEnergiesWeightIsTheRest) {
  EXPECT_EQ(Parse({})->loss.energy_weight, 1);
  EXPECT_EQ(Parse({{"force_weight", "0.25"}})->loss.energy_weight, 0.75);
  EXPECT_EQ(Parse({{"force_weight", "3"}, {"energy_weight", "2"}})->loss.energy_weight, 2);
  EXPECT_EQ(Parse({{"force_weight", "3"}, {"energy_weight", "0"}})->loss.energy_weight, 0);
}

TEST(PotentialFlagsTest, ForcesAreLearnedWhereAFlagSaysHow) {
  EXPECT_EQ(Parse({})->loss.force_weight, 0) << "until the data are known";
  const LossOptions loss = Parse({{"force_fraction", "0.5"}})->loss;
  EXPECT_EQ(loss.force_weight, 0.3);
  EXPECT_EQ(loss.energy_weight, 0.7);
}

TEST(PotentialFlagsTest, ForcesOfTheDataAreLearnedUnlessAFlagDecides) {
  const auto force_weight = [](const Given& given, Preset preset) {
    const gflags::FlagSaver saver;
    for (const auto& [name, value] : given) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
    LossOptions loss = LossOptionsFromFlags(preset).value();
    const bool learns = LearnForces(preset, &loss);
    EXPECT_EQ(learns, loss.force_weight == 0.3);
    return loss.force_weight;
  };
  EXPECT_EQ(force_weight({}, Preset::kDefault), 0.3);
  EXPECT_EQ(force_weight({}, Preset::kAenet), 0);
  EXPECT_EQ(force_weight({{"force_weight", "0"}}, Preset::kDefault), 0);
  EXPECT_EQ(force_weight({{"energy_weight", "1"}}, Preset::kDefault), 0);
}

TEST(PotentialFlagsTest, AenetsPresetHasAenetsNetworks) {
  const AtomisticTaskOptions aenet = AtomisticTaskOptionsFromFlags(Preset::kAenet).value();
  EXPECT_EQ(aenet.hidden, (std::vector<int>{15, 15}));
  EXPECT_EQ(aenet.activation, Activation::kTanh);
  const gflags::FlagSaver saver;
  EXPECT_NE(gflags::SetCommandLineOption("hidden", "7"), "");
  EXPECT_EQ(AtomisticTaskOptionsFromFlags(Preset::kAenet)->hidden, std::vector<int>{7}) << "a flag has the last word";
}

TEST(PotentialFlagsTest, TheFirstSampleMayStay) {
  const Given sample = {{"force_weight", "0.1"}, {"force_fraction", "0.5"}};
  EXPECT_EQ(Parse(sample)->force_sampling.resample_epochs, 1);
  Given fixed = sample;
  fixed.emplace_back("force_sampling", "fixed");
  EXPECT_EQ(Parse(fixed)->force_sampling.resample_epochs, 0);
  Given never = sample;
  never.emplace_back("force_resample_num_epochs", "0");
  EXPECT_EQ(Parse(never)->force_sampling.resample_epochs, 0);
}

TEST(PotentialFlagsTest, NetworksAndScales) {
  const AtomisticTaskOptions options =
      Parse({{"hidden", ""}, {"activation", "silu"}, {"feature_scaling", "none"}, {"energy_scaling", "false"}}).value();
  EXPECT_TRUE(options.hidden.empty());
  EXPECT_EQ(options.activation, Activation::kSilu);
  EXPECT_EQ(options.feature_scaling, FeatureScalingKind::kNone);
  EXPECT_FALSE(options.scale_energies);
  EXPECT_EQ(Parse({{"hidden", "7,3"}})->hidden, (std::vector<int>{7, 3}));
}

TEST(PotentialFlagsTest, RefusesWhatMeansNothing) {
  const std::vector<std::pair<Given, std::vector<std::string>>> cases = {
      {{{"hidden", "15,many"}}, {"--hidden=15,many", "\"many\""}},
      {{{"activation", "relu"}}, {"--activation=relu", "tanh", "silu"}},
      {{{"feature_scaling", "max"}}, {"--feature_scaling=max", "species"}},
      {{{"loss", "l1"}}, {"--loss=l1", "rmse, mse, huber"}},
      {{{"force_weight", "3"}}, {"--force_weight=3", "0 to 1", "--energy_weight"}},
      {{{"force_weight", "nan"}}, {"--force_weight=nan"}},
      {{{"energy_weight", "-0.5"}}, {"energy_weight is -0.5", "0 or more"}},
      {{{"energy_weight", "0"}}, {"nothing is learned"}},
      {{{"stress_weight", "-1"}}, {"stress_weight is -1"}},
      {{{"huber_delta", "1"}}, {"--huber_delta", "--loss=rmse"}},
      {{{"loss", "huber"}, {"huber_delta", "0"}}, {"huber_delta is 0", "above 0"}},
      {{{"loss", "huber"}, {"force_weight", "0"}, {"huber_delta_force", "1"}},
       {"--huber_delta_force", "--force_weight"}},
      {{{"loss", "huber"}, {"huber_delta_stress", "1"}}, {"--huber_delta_stress", "--stress_weight"}},
      {{{"force_weight", "0"}, {"force_scale_unbiased", "true"}}, {"--force_scale_unbiased", "--force_weight"}},
      {{{"force_weight", "0.1"}, {"force_scale_unbiased", "true"}}, {"--force_scale_unbiased", "--force_fraction"}},
      {{{"force_weight", "0"}, {"force_fraction", "0.5"}}, {"--force_fraction", "--force_weight"}},
      {{{"force_weight", "0.1"}, {"force_fraction", "1.5"}}, {"force_fraction is 1.5", "<= 1"}},
      {{{"force_weight", "0.1"}, {"force_sample_unit", "atom"}}, {"--force_sample_unit", "--force_fraction=1"}},
      {{{"force_weight", "0.1"}, {"force_fraction", "0.5"}, {"force_sampling", "never"}}, {"--force_sampling=never"}},
      {{{"force_weight", "0.1"}, {"force_fraction", "0.5"}, {"force_resample_num_epochs", "-1"}},
       {"force_resample_num_epochs is -1"}},
      {{{"force_weight", "0.1"},
        {"force_fraction", "0.5"},
        {"force_sampling", "fixed"},
        {"force_resample_num_epochs", "2"}},
       {"--force_resample_num_epochs", "--force_sampling=fixed"}},
  };
  for (const auto& [given, facts] : cases) {
    EXPECT_THAT(Parse(given), ErrorNames(absl::StatusCode::kInvalidArgument, facts)) << given[0].first;
  }
}

}  // namespace
}  // namespace rutile
