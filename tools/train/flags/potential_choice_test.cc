#include "tools/train/flags/potential_choice.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tools/train/flags/potential_flags.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

using Given = std::vector<std::pair<const char*, const char*>>;

void Give(const Given& given) {
  for (const auto& [name, value] : given) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
}

PotentialChoice Choose(const Given& given, const std::optional<Potential>& model = std::nullopt,
                       const std::optional<CheckpointSummary>& resumed = std::nullopt,
                       Preset preset = Preset::kDefault) {
  const gflags::FlagSaver saver;
  Give(given);
  return PotentialChoiceFromFlags(preset, AtomisticTaskOptionsFromFlags(preset)->loss, model, resumed);
}

Potential ModelOf(const DescriptorOptions& descriptor) {
  Potential model;
  model.descriptor = descriptor;
  return model;
}

CheckpointSummary RunOf(const std::map<std::string, std::string>& task) {
  CheckpointSummary run;
  run.task = task;
  return run;
}

TEST(PotentialChoiceTest, ForcesDecideWhereNoFlagDoes) {
  EXPECT_EQ(Choose({}), PotentialChoice::kManyBodyIfForces);
  EXPECT_EQ(Choose({{"species", "Ti,O"}, {"force_weight", "0.5"}}), PotentialChoice::kManyBodyIfForces);
  EXPECT_EQ(Choose({{"potential", "auto"}}), PotentialChoice::kManyBodyIfForces);
  EXPECT_EQ(Choose({{"stress_weight", "1"}, {"force_weight", "0"}}), PotentialChoice::kManyBodyIfForces);
}

TEST(PotentialChoiceTest, FlagsOfChebyshevFeaturesMeanThem) {
  for (const auto& [flag, value] : Given{{"potential", "chebyshev"},
                                         {"rad_cutoff", "5"},
                                         {"rad_order", "5"},
                                         {"ang_cutoff", "4"},
                                         {"ang_order", "2"},
                                         {"fingerprints", "Ti.stp"},
                                         {"hidden", "15,15"},
                                         {"activation", "tanh"},
                                         {"force_weight", "0"},
                                         {"energy_weight", "1"},
                                         {"device", "cuda"}}) {
    EXPECT_EQ(Choose({{flag, value}}), PotentialChoice::kByFlags) << flag;
  }
  EXPECT_EQ(Choose({}, std::nullopt, std::nullopt, Preset::kAenet), PotentialChoice::kByFlags);
  EXPECT_EQ(Choose({{"cutoff", "5"}, {"rad_cutoff", "5"}}), PotentialChoice::kByFlags) << "which is refused there";
}

TEST(PotentialChoiceTest, FlagsOfManyBodyPotentialsMeanThose) {
  for (const auto& [flag, value] : Given{{"cutoff", "5"},
                                         {"max_l", "2"},
                                         {"radial_functions", "4"},
                                         {"radial_basis", "chebyshev"},
                                         {"channels", "8"},
                                         {"messages", "4"},
                                         {"vector_messages", "2"}}) {
    EXPECT_EQ(Choose({{flag, value}}), PotentialChoice::kManyBody) << flag;
  }
  EXPECT_EQ(Choose({{"channels", "8"}, {"hidden", "5"}, {"force_weight", "0"}}), PotentialChoice::kManyBody);
  EXPECT_EQ(Choose({{"potential", "many-body"}}), PotentialChoice::kByFlags) << "the flag speaks for itself";
}

TEST(PotentialChoiceTest, ARunThatGoesOnKeepsItsKind) {
  const CheckpointSummary old = RunOf({{"preset", "default"}}), many_body = RunOf({{"potential", "many-body"}});
  EXPECT_EQ(Choose({}, std::nullopt, old), PotentialChoice::kByFlags);
  EXPECT_EQ(Choose({}, std::nullopt, many_body), PotentialChoice::kManyBody);
  EXPECT_EQ(Choose({}, ModelOf(ChebyshevOptions())), PotentialChoice::kByFlags);
  EXPECT_EQ(Choose({}, ModelOf(MomentOptions())), PotentialChoice::kManyBody);
}

int64_t Epochs(const Given& given, const std::optional<CheckpointSummary>& resumed, std::string* recorded) {
  const gflags::FlagSaver saver;
  Give(given);
  TrainerOptions options = TrainerOptionsFromFlags().value();
  SetManyBodyEpochs(resumed, &options);
  *recorded = options.config["default_epochs"];
  return options.stop.max_epochs;
}

TEST(PotentialChoiceTest, EpochsOfManyBodyRuns) {
  std::string recorded;
  EXPECT_EQ(Epochs({}, std::nullopt, &recorded), 200);
  EXPECT_EQ(recorded, "200");
  EXPECT_EQ(Epochs({{"max_epochs", "70"}}, std::nullopt, &recorded), 70);
  EXPECT_EQ(Epochs({{"fast_dev_run", "1"}}, std::nullopt, &recorded), 1);
  for (const auto& [flag, value] : Given{{"max_steps", "9"}, {"max_time", "1h"}}) {
    EXPECT_EQ(Epochs({{flag, value}}, std::nullopt, &recorded), 1000) << flag << ": as the trainer's flags say";
    EXPECT_EQ(recorded, "200");
  }
  EXPECT_EQ(Epochs({}, RunOf({{"default_epochs", "150"}}), &recorded), 150) << "of the version that began the run";
  EXPECT_EQ(recorded, "150");
  EXPECT_EQ(Epochs({}, RunOf({{"potential", "many-body"}}), &recorded), 1000) << "of versions without the record";
  EXPECT_EQ(recorded, "");
}

}  // namespace
}  // namespace rutile
