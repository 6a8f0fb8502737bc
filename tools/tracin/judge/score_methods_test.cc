// Scores of made-up influence and outcomes, whose correlations are known.

#include "tools/tracin/judge/score_methods.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/file/file.h"
#include "lib/influence/subset_plan.h"
#include "lib/testing/error_names.h"
#include "tools/tracin/judge/outcomes.h"
#include "tools/tracin/judge/retrain.h"

namespace rutile {
namespace {

constexpr int64_t kExamples = 12, kTests = 2, kSubsets = 40;
constexpr int64_t kKnownFalse = 2 * kExamples;  // an example that stays in every subset

// A "model" of a linear world: what it predicts for a test is a sum over the examples it learned from.
class LinearRun : public JudgedRun {
 public:
  const char* examples() const override { return kTripleExamples; }
  absl::StatusOr<std::vector<std::string>> Lines(const std::string&) const override {
    std::vector<std::string> lines;
    for (int64_t i = 0; i < kExamples; ++i) lines.push_back(absl::StrCat("h", i, "\tr\tt"));
    return lines;
  }
  absl::StatusOr<std::vector<int64_t>> Strata(const std::vector<std::string>&, const std::string&) const override {
    return absl::InvalidArgumentError("no strata");
  }
  // Influence files number the examples from behind, and have an inverse for each.
  absl::StatusOr<std::vector<int64_t>> LinesOfExamples(const SubsetPlan&,
                                                       absl::Span<const int64_t> examples) const override {
    std::vector<int64_t> lines;
    for (const int64_t example : examples) {
      lines.push_back(example == kKnownFalse ? -1 : kExamples - 1 - example % kExamples);
    }
    return lines;
  }
  absl::Status CheckTrainingData(const InfluenceFile&) const override { return data; }
  absl::Status ChooseTests(const InfluenceFile&) override { return absl::OkStatus(); }
  int SignOfHelp() const override { return sign; }
  absl::StatusOr<std::vector<double>> Predict(const std::string&) const override { return std::vector<double>(); }
  absl::StatusOr<std::vector<double>> TrainingLosses(const std::string&, const SubsetPlan&) const override {
    std::vector<double> losses(kExamples);
    for (int64_t i = 0; i < kExamples; ++i) losses[i] = static_cast<double>(i);
    losses[3] *= loss_factor;
    return losses;
  }
  absl::StatusOr<std::vector<uint8_t>> Akin(const SubsetPlan&, int64_t t) const override {
    std::vector<uint8_t> akin(kExamples, 0);
    akin[t] = 1;
    return akin;
  }
  const char* akin() const override { return "same"; }

  absl::Status data;
  int sign = 1;
  double loss_factor = 1;
};

SubsetPlan Plan() {
  SubsetPlan plan;
  plan.path = "plan.safetensors";
  plan.examples = kTripleExamples;
  plan.lines = LinearRun().Lines("").value();
  plan.num_subsets = kSubsets;
  plan.share = 0.5;
  SubsetPlanOptions options;
  options.num_subsets = kSubsets;
  plan.kept = DrawSubsets(kExamples, options, {}, {}).value();
  return plan;
}

// effect[t, i] of line i on test t.
std::vector<double> Effects() {
  RandomStream stream(1, "effects");
  std::vector<double> effects(kTests * kExamples);
  for (double& effect : effects) effect = stream.Normal();
  return effects;
}

// An influence file that lists all examples and inverses, each with half of minus the effect of its line: a positive
// score says that an example lowers the quantity.
InfluenceFile Exact(const std::vector<double>& effects) {
  InfluenceFile file;
  file.path = "influence.safetensors";
  file.description.num_shards = 1;
  Influence& influence = file.influence;
  influence.offset = {0};
  for (int64_t t = 0; t < kTests; ++t) {
    influence.tests.push_back(t);
    file.description.test_names.push_back(absl::StrCat("test ", t));
    for (int64_t example = 2 * kExamples - 1; example >= 0; --example) {
      influence.train.push_back(example);
      influence.score.push_back(-effects[t * kExamples + kExamples - 1 - example % kExamples] / 2);
    }
    influence.offset.push_back(static_cast<int64_t>(influence.train.size()));
  }
  return file;
}

OutcomeMap OutcomesOf(const SubsetPlan& plan, const std::vector<double>& effects,
                      const std::vector<std::string>& seeds) {
  OutcomeMap map;
  for (const std::string& seed : seeds) {
    for (int64_t m = 0; m < plan.num_subsets; ++m) {
      std::vector<double>& y = map[{m, seed}];
      for (int64_t t = 0; t < kTests; ++t) {
        double sum = 0;
        for (int64_t i = 0; i < kExamples; ++i) sum += plan.subset(m)[i] * effects[t * kExamples + i];
        y.push_back(sum);
      }
    }
  }
  return map;
}

// Returns the cells of the row of a table.
std::vector<std::string> Row(const std::string& table, const std::string& name) {
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (cells[0] == name) return cells;
  }
  return {};
}

double Number(const std::string& text) {
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

TEST(ScoreMethodsTest, WhatStaysInEverySubsetDoesNotCount) {
  const std::vector<double> effects = Effects();
  InfluenceFile file = Exact(effects);
  const absl::StatusOr<std::vector<double>> without = ScoresByLine(file, Plan(), LinearRun());
  ASSERT_TRUE(without.ok()) << without.status();
  for (int64_t t = kTests - 1; t >= 0; --t) {
    const int64_t at = file.influence.offset[t + 1];
    file.influence.train.insert(file.influence.train.begin() + at, kKnownFalse);
    file.influence.score.insert(file.influence.score.begin() + at, 1e3);
  }
  for (int64_t t = 0; t <= kTests; ++t) file.influence.offset[t] += t;
  const absl::StatusOr<std::vector<double>> with = ScoresByLine(file, Plan(), LinearRun());
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(*with, *without);
}

TEST(ScoreMethodsTest, ExactScoresHaveAllOfTheCeiling) {
  const SubsetPlan plan = Plan();
  const std::vector<double> effects = Effects();
  const LinearRun run;
  const absl::StatusOr<std::vector<double>> score = ScoresByLine(Exact(effects), plan, run);
  ASSERT_TRUE(score.ok()) << score.status();
  for (int64_t i = 0; i < kTests * kExamples; ++i) EXPECT_DOUBLE_EQ((*score)[i], -effects[i]);
  std::vector<MethodScores> methods = {{"exact", *score}};
  const std::vector<MethodScores> baselines = Baselines(plan, run, kTests, "model", 0).value();
  methods.insert(methods.end(), baselines.begin(), baselines.end());
  const Outcomes outcomes = CompleteOutcomes(OutcomesOf(plan, effects, {"0", "1"}), kTests).value();
  const std::string table = DatamodelingTable(methods, plan, outcomes, kTests, 0);
  EXPECT_DOUBLE_EQ(Number(Row(table, "exact")[1]), 1);
  EXPECT_DOUBLE_EQ(Number(Row(table, "exact")[4]), 1);
  EXPECT_DOUBLE_EQ(Number(Row(table, "exact")[7]), 1);
  EXPECT_DOUBLE_EQ(Number(Row(table, "ceiling of 2 seeds")[1]), 1);
  for (const char* name : {"own loss", "same", "random"}) {
    EXPECT_EQ(Row(table, name).size(), 8u) << name;
    EXPECT_LT(Number(Row(table, name)[1]), 0.8) << name;
  }
  // Without a model there is no loss to know, and with one seed no ceiling.
  EXPECT_EQ(Baselines(plan, run, kTests, "", 0)->size(), 2u);
  const Outcomes one = CompleteOutcomes(OutcomesOf(plan, effects, {"0"}), kTests).value();
  EXPECT_EQ(Row(DatamodelingTable(methods, plan, one, kTests, 0), "exact").size(), 7u);
}

TEST(ScoreMethodsTest, ScoresOfAPartAreRefused) {
  InfluenceFile file = Exact(Effects());
  file.influence.offset[1] -= 24;  // test 0 has none, and test 1 those of both
  EXPECT_THAT(ScoresByLine(file, Plan(), LinearRun()).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"influence.safetensors", "--top_k=0", "12"}));
  file = Exact(Effects());
  file.description.num_shards = 2;
  EXPECT_THAT(ScoresByLine(file, Plan(), LinearRun()).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"influence.safetensors", "--merge"}));
}

// Numbers that are not finite have no ranks: they are refused, with their place, before any correlation.
TEST(ScoreMethodsTest, NumbersThatAreNotFiniteAreRefused) {
  InfluenceFile file = Exact(Effects());
  for (double& score : file.influence.score) score = 1e308;
  EXPECT_THAT(ScoresByLine(file, Plan(), LinearRun()).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"influence.safetensors", "line 1 ", "test 0", "inf"}));
  LinearRun run;
  run.loss_factor = std::nan("");
  EXPECT_THAT(Baselines(Plan(), run, kTests, "model.safetensors", 0).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"model.safetensors", "h3", "nan"}));
}

TEST(ScoreMethodsTest, ScoresOfOtherDataAreRefused) {
  LinearRun run;
  run.data = OtherTrainingData(Exact(Effects()));
  EXPECT_THAT(ScoresByLine(Exact(Effects()), Plan(), run).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"influence.safetensors", "--train", "order"}));
}

// In this world only the akin example of each test has an effect. If it lowers the quantity, a loss, "same" predicts
// all; if it raises the quantity, a score of a triple, too; and of an energy it says nothing.
TEST(ScoreMethodsTest, BaselinesHaveTheSignOfTheQuantity) {
  const SubsetPlan plan = Plan();
  for (const int sign : {1, -1, 0}) {
    LinearRun run;
    run.sign = sign;
    std::vector<double> effects(kTests * kExamples, 0);
    for (int64_t t = 0; t < kTests; ++t) effects[t * kExamples + t] = -sign;
    const std::vector<MethodScores> methods = Baselines(plan, run, kTests, "model", 0).value();
    const Outcomes outcomes = CompleteOutcomes(OutcomesOf(plan, effects, {"0"}), kTests).value();
    const std::string table = DatamodelingTable(methods, plan, outcomes, kTests, 0);
    if (sign == 0) {
      EXPECT_EQ(methods.size(), 1u);  // random
      continue;
    }
    EXPECT_DOUBLE_EQ(Number(Row(table, "same")[1]), 1) << sign;
    const auto loss = std::find_if(methods.begin(), methods.end(),
                                   [](const MethodScores& method) { return method.name == "own loss"; });
    ASSERT_NE(loss, methods.end());
    EXPECT_EQ(loss->score[3], 3 * sign);  // the loss of line 3 is 3
  }
}

TEST(OutcomesTest, SubsetsThatLackASeedDoNotCount) {
  const SubsetPlan plan = Plan();
  OutcomeMap map = OutcomesOf(plan, Effects(), {"3", "4"});
  map.erase({7, "4"});
  const Outcomes outcomes = CompleteOutcomes(map, kTests).value();
  EXPECT_EQ(outcomes.subsets.size(), 39u);
  EXPECT_EQ(outcomes.left_out, 1);
  EXPECT_THAT(outcomes.seeds, ::testing::ElementsAre("3", "4"));
  for (int64_t m = 2; m < kSubsets; ++m) map.erase({m, "3"});
  EXPECT_THAT(CompleteOutcomes(map, kTests).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"2 subsets"}));
}

TEST(OutcomesTest, TablesOfOtherPrograms) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/y.tsv";
  const auto read = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    const std::vector<int64_t> tests = {5, 2};
    return ReadOutcomeTable(path, Plan(), tests);
  };
  const std::string header = "subset\tseed\ttest\tvalue\n";
  const auto map = read(header + "1\ta\t2\t0.5\n1\ta\t5\t-1\n1\ta\t9\t7\n39\tb\t5\t3\n39\tb\t2\t4\n");
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(map->at({1, "a"}), ::testing::ElementsAre(-1, 0.5));  // in the order of the tests
  EXPECT_THAT(map->at({39, "b"}), ::testing::ElementsAre(3, 4));
  const auto error = [](const std::vector<std::string>& facts) {
    return ErrorNames(absl::StatusCode::kInvalidArgument, facts);
  };
  EXPECT_THAT(read("subset\tseed\n").status(), error({path + ":1", "header"}));
  EXPECT_THAT(read(header + "1\ta\t2\tmuch\n").status(), error({path + ":2"}));
  EXPECT_THAT(read(header + "40\ta\t2\t1\n").status(), error({path + ":2", "subset 40"}));
  EXPECT_THAT(read(header + "1\ta\t2\t1\n1\ta\t2\t1\n").status(), error({path + ":3", "twice"}));
  EXPECT_THAT(read(header + "1\ta\t2\t1\n").status(), error({path, "test 5", "subset 1"}));
}

TEST(RemovalPlanTest, TakesTheHighestAndRandomOnes) {
  const LinearRun run;
  const std::vector<double> effects = Effects();
  JudgeFlags flags;
  flags.removals = {{"top2", false, 2}, {"random3", true, 3}};
  const absl::StatusOr<SubsetPlan> plan = RemovalPlan(flags, Exact(effects), run, "run");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->num_subsets, 5);
  const auto missing = [&](int64_t m) {
    std::vector<int64_t> lines;
    for (int64_t i = 0; i < kExamples; ++i) {
      if (plan->subset(m)[i] == 0) lines.push_back(i);
    }
    return lines;
  };
  EXPECT_TRUE(missing(0).empty());
  EXPECT_EQ(missing(2).size(), 3u);
  EXPECT_EQ(missing(4).size(), 3u);
  for (int64_t t = 0; t < kTests; ++t) {  // the highest scores are those of the lowest effects
    std::vector<std::pair<double, int64_t>> order;
    for (int64_t i = 0; i < kExamples; ++i) order.emplace_back(effects[t * kExamples + i], i);
    std::sort(order.begin(), order.end());
    EXPECT_THAT(missing(1 + 2 * t), ::testing::UnorderedElementsAre(order[0].second, order[1].second));
  }
  flags.removals = {{"top12", false, 12}};
  EXPECT_THAT(RemovalPlan(flags, Exact(effects), run, "run").status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"top12", "12 training examples"}));
}

}  // namespace
}  // namespace rutile
