// The outcomes of trainings on subsets: what each model predicts for each test.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_OUTCOMES_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_OUTCOMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/files/subsets_file.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/judge/subset_models.h"

namespace rutile {

inline constexpr int64_t kFewestSubsets = 3;  // of which an order says anything

// Outcomes of subsets that all seeds have.
struct Outcomes {
  std::vector<int64_t> subsets;        // [M] numbers in the plan, ascending
  std::vector<std::string> seeds;      // [K] ascending
  std::vector<std::vector<double>> y;  // [K] of [T, M]
  int64_t left_out = 0;                // subsets that lack the model of a seed

  // Returns the mean over seeds, [T, M].
  std::vector<double> Mean() const;
};

// Values of tests by (subset, seed).
using OutcomeMap = std::map<std::pair<int64_t, std::string>, std::vector<double>>;

// Asks the models for the chosen tests. INVALID_ARGUMENT: two models of one subset and seed.
absl::StatusOr<OutcomeMap> PredictTests(absl::Span<const SubsetModel> models, const JudgedRun& run);

// Reads a table with the columns subset, seed, test (number, as in the influence file) and value, separated by tabs,
// with a header: outcomes that another program has computed. INVALID_ARGUMENT naming path and line; tests that are
// missing.
absl::StatusOr<OutcomeMap> ReadOutcomeTable(const std::string& path, const SubsetPlan& plan,
                                            absl::Span<const int64_t> tests);

// Keeps the subsets that all seeds have. INVALID_ARGUMENT if these are fewer than 3.
absl::StatusOr<Outcomes> CompleteOutcomes(const OutcomeMap& map, int64_t num_tests);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_OUTCOMES_H_
