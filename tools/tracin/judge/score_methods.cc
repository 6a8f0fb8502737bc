#include "tools/tracin/judge/score_methods.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/influence/datamodeling_score.h"

namespace rutile {

absl::StatusOr<std::vector<double>> ScoresByLine(const InfluenceFile& influence, const SubsetPlan& plan,
                                                 const JudgedRun& run) {
  const Influence& scores = influence.influence;
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(influence.path, ": ", what));
  };
  if (scores.tests.empty()) return error("has no scores of tests, expected those of tracin --test");
  if (influence.description.num_shards > 1) {
    return error(absl::StrCat("is one of ", influence.description.num_shards, " shards: tracin --merge joins them"));
  }
  const int64_t n = plan.num_examples();
  std::vector<double> by_line(scores.tests.size() * n, 0);
  for (size_t t = 0; t < scores.tests.size(); ++t) {
    const absl::Span<const int64_t> train =
        absl::MakeConstSpan(scores.train).subspan(scores.offset[t], scores.offset[t + 1] - scores.offset[t]);
    ASSIGN_OR_RETURN(const std::vector<int64_t> lines, run.LinesOfExamples(plan, train));
    std::vector<uint8_t> has(n, 0);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i] < 0) continue;
      by_line[t * n + lines[i]] += scores.score[scores.offset[t] + static_cast<int64_t>(i)];
      has[lines[i]] = 1;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(by_line[t * n + i])) continue;
      return error(absl::StrCat("the scores of line ", i + 1, " of the training examples for test ", scores.tests[t],
                                " add up to ", by_line[t * n + i]));
    }
    const auto missing = std::count(has.begin(), has.end(), 0);
    if (missing == 0) continue;
    return error(absl::StrCat("has no score of ", missing, " of the ", n, " training examples for test ",
                              scores.tests[t], ": compute all, with --top_k=0 and without --sample_rate"));
  }
  RETURN_IF_ERROR(run.CheckTrainingData(influence));
  return by_line;
}

absl::StatusOr<std::vector<MethodScores>> Baselines(const SubsetPlan& plan, const JudgedRun& run, int64_t num_tests,
                                                    const std::string& model, uint64_t seed) {
  const int64_t n = plan.num_examples();
  const int sign = run.SignOfHelp();
  std::vector<MethodScores> methods;
  if (!model.empty() && sign != 0) {
    ASSIGN_OR_RETURN(std::vector<double> losses, run.TrainingLosses(model, plan));
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(losses[i])) {
        return absl::InvalidArgumentError(absl::StrCat(model, ": its loss of training example ", plan.lines[i], " is ",
                                                       losses[i], ", which has no rank among the others"));
      }
      losses[i] *= sign;
    }
    MethodScores& method = methods.emplace_back();
    method.name = "own loss";
    for (int64_t t = 0; t < num_tests; ++t) method.score.insert(method.score.end(), losses.begin(), losses.end());
  }
  MethodScores akin, random;
  akin.name = run.akin();
  random.name = "random";
  RandomStream stream(seed, "random scores");
  for (int64_t t = 0; t < num_tests; ++t) {
    if (sign != 0) {
      ASSIGN_OR_RETURN(const std::vector<uint8_t> is_akin, run.Akin(plan, t));
      for (const uint8_t is : is_akin) akin.score.push_back(sign * is);
    }
    for (int64_t i = 0; i < n; ++i) random.score.push_back(stream.Normal());
  }
  if (sign != 0) methods.push_back(std::move(akin));
  methods.push_back(std::move(random));
  return methods;
}

std::string DatamodelingTable(const std::vector<MethodScores>& methods, const SubsetPlan& plan,
                              const Outcomes& outcomes, int64_t num_tests, uint64_t seed) {
  const auto num_subsets = static_cast<int64_t>(outcomes.subsets.size());
  std::vector<uint8_t> kept;
  for (const int64_t m : outcomes.subsets) kept.insert(kept.end(), plan.subset(m).begin(), plan.subset(m).end());
  const bool has_ceiling = outcomes.seeds.size() > 1;
  const auto num_seeds = static_cast<int64_t>(outcomes.seeds.size());
  const double agreement = has_ceiling ? SeedAgreement(outcomes.y, num_tests) : 0;
  const double ceiling = ScoreCeiling(agreement, num_seeds);
  const std::vector<double> y = outcomes.Mean();
  std::string table = "scores\tlds\tlds_low\tlds_high\tlds_median\tmedian_low\tmedian_high";
  absl::StrAppend(&table, has_ceiling ? "\tof_ceiling\n" : "\n");
  BootstrapOptions options;
  options.seed = seed;
  for (const MethodScores& method : methods) {
    const std::vector<double> yhat = PredictSubsets(kept, method.score, num_tests, num_subsets);
    const DatamodelingScore score = ScoreDatamodel(yhat, y, num_tests, options);
    absl::StrAppendFormat(&table, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f", method.name, score.mean.value,
                          score.mean.low, score.mean.high, score.median.value, score.median.low, score.median.high);
    if (has_ceiling) {
      absl::StrAppend(&table, "\t", ceiling > 0 ? absl::StrFormat("%.4f", score.mean.value / ceiling) : "nan");
    }
    absl::StrAppend(&table, "\n");
  }
  if (has_ceiling) absl::StrAppendFormat(&table, "ceiling of %d seeds\t%.4f\t\t\t\t\t\t\n", num_seeds, ceiling);
  return table;
}

}  // namespace rutile
