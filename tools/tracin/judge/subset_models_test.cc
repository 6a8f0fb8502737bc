#include "tools/tracin/judge/subset_models.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using Settings = std::map<std::string, std::string>;

TrainingSetup SetupOf(const std::string& path, const Settings& common, const Settings& more = {}) {
  TrainingSetup setup;
  setup.path = path;
  setup.step = "20";
  Settings all = common;  // as files record them, and flags of the run
  all.insert(more.begin(), more.end());
  setup.settings = SettingsOfModel(all);
  setup.settings.insert(all.begin(), all.end());
  return setup;
}

const Settings kTriples = {{"kge_model", "distmult"}, {"kge_loss", "1vsAll"}, {"embedding_dim", "8"}};
const Settings kStructures = {{"descriptor", "{}"}, {"hidden", "4"}};

// What is recorded only where it is set differs from its default, whichever model comes first.
TEST(SubsetModelsTest, SettingsThatOneModelAloneRecordsCount) {
  const std::vector<std::pair<std::string, std::string>> of_triples = {
      {"negatives_by", "frequency"}, {"negatives_per_batch", "64"}, {"candidate_dropout", "0.1"},
      {"entity_dropout", "0.1"},     {"relation_dropout", "0.1"},   {"group_queries", "true"},
      {"regularizer", "n3"},         {"relation_prediction", "4"},  {"negative_weight", "0.5"},
      {"init", "normal:0.001"},
  };
  Settings sampled = kTriples;
  sampled["negatives_per_batch"] = "64";
  for (const auto& [name, value] : of_triples) {
    const Settings& common = name == "negatives_by" ? sampled : kTriples;
    const TrainingSetup plain = SetupOf("plain", common), set = SetupOf("set", common, {{name, value}});
    for (const auto& [first, second] : {std::make_pair(plain, set), std::make_pair(set, plain)}) {
      EXPECT_THAT(CheckSameSetup(first, second),
                  ErrorNames(absl::StatusCode::kInvalidArgument, {"plain", "set", name, value}));
    }
    EXPECT_TRUE(CheckSameSetup(set, set).ok());
  }
  for (const std::string name : {"channels", "layers"}) {
    const TrainingSetup plain = SetupOf("plain", kStructures), set = SetupOf("set", kStructures, {{name, "8"}});
    EXPECT_THAT(CheckSameSetup(plain, set), ErrorNames(absl::StatusCode::kInvalidArgument, {name, "none", "8"}));
    EXPECT_THAT(CheckSameSetup(set, plain), ErrorNames(absl::StatusCode::kInvalidArgument, {name, "none", "8"}));
  }
}

TEST(SubsetModelsTest, DefaultsThatAreWrittenAreTheSame) {
  EXPECT_TRUE(CheckSameSetup(SetupOf("a", kTriples, {{"negatives_by", "uniform"}, {"negative_weight", "1"}}),
                             SetupOf("b", kTriples))
                  .ok());
}

// Predictions do not say of which shape their model is, and a model without its run has no flags: neither is refused.
TEST(SubsetModelsTest, WhatIsNotKnownIsNotCompared) {
  const TrainingSetup model = SetupOf("model", kTriples, {{"negatives_by", "type"}, {"--learning_rate", "0.01"}});
  EXPECT_TRUE(CheckSameSetup(model, SetupOf("predictions", {})).ok());
  EXPECT_TRUE(CheckSameSetup(SetupOf("predictions", {}), model).ok());
  const TrainingSetup copied = SetupOf("copied", kTriples, {{"negatives_by", "type"}});
  EXPECT_TRUE(CheckSameSetup(model, copied).ok());
  EXPECT_TRUE(CheckSameSetup(copied, model).ok());
}

TEST(SubsetModelsTest, StepsAndFlagsCount) {
  TrainingSetup longer = SetupOf("longer", kTriples);
  longer.step = "30";
  EXPECT_THAT(CheckSameSetup(SetupOf("model", kTriples), longer),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"model", "longer", "step", "20", "30"}));
  EXPECT_THAT(
      CheckSameSetup(SetupOf("a", kTriples, {{"--batch_size", "8"}}), SetupOf("b", kTriples, {{"--batch_size", "4"}})),
      ErrorNames(absl::StatusCode::kInvalidArgument, {"--batch_size", "8", "4"}));
}

}  // namespace
}  // namespace rutile
