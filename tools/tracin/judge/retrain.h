// Removal and retraining: what a test's most influential examples, and random ones, do to it when they are gone.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_RETRAIN_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_RETRAIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/files/subsets_file.h"
#include "tools/tracin/judge/judge_flags.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/judge/subset_models.h"

namespace rutile {

// Returns a plan whose subset 0 keeps all examples, and whose subset 1 + t R + r lacks those that removal r of R takes
// away for test t of the influence file. INVALID_ARGUMENT: a removal of as many examples as there are.
absl::StatusOr<SubsetPlan> RemovalPlan(const JudgeFlags& flags, const InfluenceFile& influence, const JudgedRun& run,
                                       const std::string& directory);

// Returns a table (TSV) with a row for each test and removal, and one for the mean over tests of each removal. Columns:
// predicted change of the test's quantity (the sum of the scores that are gone), its change in the mean over seeds
// with the standard error of that, and the mean change of the other tests. Changes are against the training of the same
// seed on all examples.
absl::StatusOr<std::string> ReportRemovals(const JudgeFlags& flags, const SubsetPlan& plan,
                                           const InfluenceFile& influence, const std::vector<SubsetModel>& models,
                                           JudgedRun* run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_RETRAIN_H_
