#include "tools/train/flags/potential_choice.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
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
                       const std::optional<CheckpointSummary>& resumed = std::nullopt, Preset preset = Preset::kDefault,
                       bool on_gpu = false) {
  const gflags::FlagSaver saver;
  Give(given);
  return PotentialChoiceFromFlags(preset, AtomisticTaskOptionsFromFlags(preset)->loss, on_gpu, model, resumed);
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
                                         {"energy_weight", "1"}}) {
    EXPECT_EQ(Choose({{flag, value}}), PotentialChoice::kByFlags) << flag;
  }
  EXPECT_EQ(Choose({}, std::nullopt, std::nullopt, Preset::kAenet), PotentialChoice::kByFlags);
  EXPECT_EQ(Choose({}, std::nullopt, std::nullopt, Preset::kDefault, /*on_gpu=*/true), PotentialChoice::kByFlags)
      << "where --device=auto finds one, too";
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

// Each goes on against what data or flags would choose.
TEST(PotentialChoiceTest, ARunThatGoesOnKeepsItsKind) {
  const CheckpointSummary old = RunOf({{"preset", "default"}}), many_body = RunOf({{"potential", "many-body"}});
  for (const auto& [flag, value] : Given{{"channels", "8"}, {"cutoff", "4"}, {"force_weight", "0.5"}}) {
    EXPECT_EQ(Choose({{flag, value}}, std::nullopt, old), PotentialChoice::kByFlags) << flag;
    EXPECT_EQ(Choose({{flag, value}}, ModelOf(ChebyshevOptions())), PotentialChoice::kByFlags) << flag;
  }
  for (const auto& [flag, value] : Given{{"hidden", "8"}, {"activation", "tanh"}, {"force_weight", "0"}}) {
    EXPECT_EQ(Choose({{flag, value}}, std::nullopt, many_body), PotentialChoice::kManyBody) << flag;
    EXPECT_EQ(Choose({{flag, value}}, ModelOf(MomentOptions())), PotentialChoice::kManyBody) << flag;
  }
}

std::string Why(const Given& given, bool on_gpu = false, bool from_structures = true, int num_species = 2,
                Preset preset = Preset::kDefault) {
  const gflags::FlagSaver saver;
  Give(given);
  return WhyChebyshev(preset, on_gpu, from_structures, num_species);
}

TEST(PotentialChoiceTest, WhyForcesAreLearnedOnChebyshevFeatures) {
  using ::testing::HasSubstr;
  EXPECT_THAT(Why({{"hidden", "8"}}), HasSubstr("--hidden is given; --potential=many-body"));
  EXPECT_THAT(Why({{"activation", "tanh"}}), HasSubstr("--activation is given"));
  EXPECT_THAT(Why({}, /*on_gpu=*/true), HasSubstr("GPU"));
  EXPECT_THAT(Why({}, false, /*from_structures=*/false),
              HasSubstr("features or neighbors; from structures --potential=many-body"));
  EXPECT_THAT(Why({}, false, true, 11), HasSubstr("11 elements"));
  EXPECT_EQ(Why({}, false, true, 10), "");
  EXPECT_EQ(Why({{"hidden", "8"}, {"potential", "chebyshev"}}), "");
  EXPECT_EQ(Why({{"hidden", "8"}, {"rad_cutoff", "5"}}), "");
  EXPECT_EQ(Why({{"hidden", "8"}}, false, true, 2, Preset::kAenet), "");
}

int64_t Epochs(const Given& given, const std::optional<CheckpointSummary>& resumed, std::string* recorded) {
  const gflags::FlagSaver saver;
  Give(given);
  TrainerOptions options = TrainerOptionsFromFlags().value();
  SetManyBodyEpochs(resumed, &options);
  *recorded = options.config["default_epochs"];
  return options.stop.max_epochs;
}

TEST(PotentialChoiceTest, EpochsOfNewManyBodyRuns) {
  std::string recorded;
  EXPECT_EQ(Epochs({}, std::nullopt, &recorded), 200);
  EXPECT_EQ(recorded, "200");
  EXPECT_EQ(Epochs({{"max_epochs", "70"}}, std::nullopt, &recorded), 70);
  EXPECT_EQ(recorded, "70");
  EXPECT_EQ(Epochs({{"fast_dev_run", "1"}}, std::nullopt, &recorded), 1);
  EXPECT_EQ(Epochs({{"max_steps", "9"}}, std::nullopt, &recorded), 1000) << "as the trainer's flags say";
  EXPECT_EQ(recorded, "1000");
  for (const Given& given :
       {Given{{"max_time", "1h"}}, Given{{"patience", "20"}, {"min_epochs", "30"}},
        Given{{"patience", "20"}, {"min_steps", "30"}}, Given{{"max_steps", "-1"}}, Given{{"fast_dev_run", "0"}}}) {
    EXPECT_EQ(Epochs(given, std::nullopt, &recorded), 200) << given.back().first << ": does not say how long it is";
    EXPECT_EQ(recorded, "200");
  }
}

TEST(PotentialChoiceTest, ManyBodyRunsThatGoOnHaveTheirOwnEpochs) {
  std::string recorded;
  const CheckpointSummary run = RunOf({{"default_epochs", "150"}});
  for (const Given& given : {Given{}, Given{{"max_time", "23h"}}, Given{{"max_steps", "9"}}}) {
    EXPECT_EQ(Epochs(given, run, &recorded), 150);
    EXPECT_EQ(recorded, "150");
  }
  EXPECT_EQ(Epochs({{"max_epochs", "300"}}, run, &recorded), 300);
  EXPECT_EQ(recorded, "300");
  EXPECT_EQ(Epochs({}, RunOf({{"potential", "many-body"}}), &recorded), 1000) << "of versions without the record";
  EXPECT_EQ(recorded, "1000");
}

// A run without an end has a constant rate, unless a flag says otherwise.
TEST(PotentialChoiceTest, AnEndlessRunGoesOnWithoutASchedule) {
  const gflags::FlagSaver saver;
  Give({{"resume", "auto"}});
  TrainerOptions options = TrainerOptionsFromFlags(PotentialTrainerDefaults(Preset::kDefault)).value();
  EXPECT_EQ(options.schedule.kind, ScheduleKind::kCosine);
  SetManyBodyEpochs(RunOf({{"default_epochs", "-1"}}), &options);
  EXPECT_EQ(options.stop.max_epochs, -1);
  EXPECT_EQ(options.schedule.kind, ScheduleKind::kConstant);
  EXPECT_TRUE(options.overrides.empty());
}

}  // namespace
}  // namespace rutile
