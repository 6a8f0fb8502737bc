#include "tools/tracin/judge/retrain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "tools/tracin/judge/outcomes.h"
#include "tools/tracin/judge/score_methods.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns the lines that a removal takes away for test t, whose scores are `score` [n]: those that help the test most,
// with the highest scores, or with the lowest if sign_of_help (JudgedRun) is -1.
std::vector<int64_t> Removed(const Removal& removal, absl::Span<const double> score, int sign_of_help, uint64_t seed,
                             int64_t t) {
  std::vector<int64_t> order(score.size());
  if (removal.is_random) {
    order = RandomPermutation(static_cast<int64_t>(score.size()), RandomStream(seed, "removal", t));
  } else {
    std::iota(order.begin(), order.end(), int64_t{0});
    const double sign = sign_of_help < 0 ? -1 : 1;
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return sign * score[a] > sign * score[b]; });
  }
  order.resize(removal.count);
  return order;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The standard error of the mean; NaN of a single value.
double StandardError(const std::vector<double>& values) {
  if (values.size() < 2) return kNan;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(sum / (n - 1) / n);
}

}  // namespace

absl::StatusOr<SubsetPlan> RemovalPlan(const JudgeFlags& flags, const InfluenceFile& influence, const JudgedRun& run,
                                       const std::string& directory) {
  SubsetPlan plan;
  plan.path = directory;
  plan.examples = run.examples();
  ASSIGN_OR_RETURN(plan.lines, run.Lines(directory));
  const int64_t n = plan.num_examples();
  int64_t most = 0;
  for (const Removal& removal : flags.removals) {
    most = std::max(most, removal.count);
    if (removal.count < n) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--retrain=", removal.name, ": there are ", n, " training examples, and some must stay"));
  }
  ASSIGN_OR_RETURN(const std::vector<double> score, ScoresByLine(influence, plan, run));
  const auto num_tests = static_cast<int64_t>(influence.influence.tests.size());
  plan.seed = flags.seed;
  plan.share = 1 - static_cast<double>(most) / static_cast<double>(n);
  plan.num_subsets = 1 + num_tests * static_cast<int64_t>(flags.removals.size());
  plan.kept.assign(plan.num_subsets * n, 1);
  int64_t m = 1;
  for (int64_t t = 0; t < num_tests; ++t) {
    for (const Removal& removal : flags.removals) {
      const absl::Span<const double> of_test = absl::MakeConstSpan(score).subspan(t * n, n);
      for (const int64_t line : Removed(removal, of_test, run.SignOfHelp(), flags.seed, t)) {
        plan.kept[m * n + line] = 0;
      }
      ++m;
    }
  }
  return plan;
}

absl::StatusOr<std::string> ReportRemovals(const JudgeFlags& flags, const SubsetPlan& plan,
                                           const InfluenceFile& influence, const std::vector<SubsetModel>& models,
                                           JudgedRun* run) {
  RETURN_IF_ERROR(run->ChooseTests(influence));
  ASSIGN_OR_RETURN(const std::vector<double> score, ScoresByLine(influence, plan, *run));
  ASSIGN_OR_RETURN(const OutcomeMap outcomes, PredictTests(models, *run));
  std::vector<std::string> seeds;
  for (const auto& [key, values] : outcomes) {
    if (key.first == 0) seeds.push_back(key.second);
  }
  const auto num_tests = static_cast<int64_t>(influence.influence.tests.size());
  const auto num_removals = static_cast<int64_t>(flags.removals.size());
  const int64_t n = plan.num_examples();
  std::string table = "test\tname\tremoved\tpredicted_change\tchange\tstandard_error\tchange_of_others\n";
  std::vector<std::vector<double>> predicted_of(num_removals), change_of(num_removals), others_of(num_removals);
  for (int64_t t = 0; t < num_tests; ++t) {
    for (int64_t r = 0; r < num_removals; ++r) {
      const int64_t m = 1 + t * num_removals + r;
      double predicted = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (plan.subset(m)[i] == 0) predicted += score[t * n + i];
      }
      std::vector<double> own, others;
      for (const std::string& seed : seeds) {
        const std::vector<double>&whole = outcomes.at({0, seed}), &less = outcomes.at({m, seed});
        own.push_back(less[t] - whole[t]);
        for (int64_t other = 0; other < num_tests; ++other) {
          if (other != t) others.push_back(less[other] - whole[other]);
        }
      }
      predicted_of[r].push_back(predicted);
      change_of[r].push_back(Mean(own));
      others_of[r].push_back(others.empty() ? kNan : Mean(others));
      absl::StrAppendFormat(&table, "%d\t%s\t%s\t%.6g\t%.6g\t%.3g\t%.6g\n", influence.influence.tests[t],
                            influence.description.test_names[t], flags.removals[r].name, predicted, Mean(own),
                            StandardError(own), others_of[r].back());
    }
  }
  for (int64_t r = 0; r < num_removals; ++r) {
    absl::StrAppendFormat(&table, "mean\tover %d tests\t%s\t%.6g\t%.6g\t%.3g\t%.6g\n", num_tests,
                          flags.removals[r].name, Mean(predicted_of[r]), Mean(change_of[r]),
                          StandardError(change_of[r]), Mean(others_of[r]));
  }
  return table;
}

}  // namespace rutile
