// The table of linear datamodeling scores: a row for each influence file, and for the baselines that any method must
// beat.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SCORE_METHODS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SCORE_METHODS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/files/subsets_file.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/judge/outcomes.h"

namespace rutile {

// Scores of a method, one for each test and line of the plan.
struct MethodScores {
  std::string name;
  std::vector<double> score;  // [T, n]
};

// Returns the scores of an influence file by the lines of the plan. INVALID_ARGUMENT: scores of other training
// data, or a line without a score (the file lists only the largest, or is of a sample).
absl::StatusOr<std::vector<double>> ScoresByLine(const InfluenceFile& influence, const SubsetPlan& plan,
                                                 const JudgedRun& run);

// Returns the baselines: the loss of each training example, the same for all tests, under the model of the run (left
// out if that is ""); 1 for examples akin to the test; and random numbers. The first two say that an example makes the
// test better: they have a minus if the test's quantity rises then, and are left out if it is neither good nor bad. The
// tests must be chosen.
absl::StatusOr<std::vector<MethodScores>> Baselines(const SubsetPlan& plan, const JudgedRun& run, int64_t num_tests,
                                                    const std::string& model, uint64_t seed);

// Returns the table as TSV: scores, lds (mean over tests), its 95 % interval, lds_median with its own, and, with
// several seeds, the share of the ceiling. Rows after the methods: "ceiling" in the column lds.
std::string DatamodelingTable(const std::vector<MethodScores>& methods, const SubsetPlan& plan,
                              const Outcomes& outcomes, int64_t num_tests, uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SCORE_METHODS_H_
