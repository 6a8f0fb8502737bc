// The judge of attributions: how well scores of influence predict what training without the examples does.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/files/subsets_file.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/judge/judge_flags.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/judge/outcomes.h"

namespace rutile {

// Does what the flags ask for; flags.mode is not kNone.
absl::Status RunJudge(const ToolRun& run, const JudgeFlags& flags);

// Draws the plan of subsets of the run in `directory`.
absl::StatusOr<SubsetPlan> DrawPlan(const JudgeFlags& flags, const JudgedRun& run, const std::string& directory);

// Reads complete influence files, whose tests and quantity must be the same.
absl::StatusOr<std::vector<InfluenceFile>> ReadScores(const std::vector<std::string>& paths);

// Returns the table of scores. outcomes: of the tests of the influence files, which are chosen. model: of the run, for
// the baseline of losses; "": without it.
absl::StatusOr<std::string> ScoreInfluence(const JudgeFlags& flags, const SubsetPlan& plan,
                                           const std::vector<InfluenceFile>& influence, const OutcomeMap& outcomes,
                                           const std::string& model, const JudgedRun& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_
