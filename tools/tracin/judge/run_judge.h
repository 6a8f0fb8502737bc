// The judge of attributions: how well scores of influence predict what training without the examples does.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/influence_file.h"
#include "lib/influence/subsets_file.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/judge/judge_flags.h"
#include "tools/tracin/judge/judged_run.h"

namespace rutile {

// Does what the flags ask for; flags.mode is not kNone.
absl::Status RunJudge(const ToolRun& run, const JudgeFlags& flags);

// Draws the plan of subsets of the run in `directory`.
absl::StatusOr<SubsetPlan> DrawPlan(const JudgeFlags& flags, const JudgedRun& run, const std::string& directory);

// Reads complete influence files, whose tests and quantity must be the same.
absl::StatusOr<std::vector<InfluenceFile>> ReadScores(const std::vector<std::string>& paths);

// Prints the table of scores to standard output, and returns it. predictions: as --predictions. model: of the run, for
// the baseline of losses; "": without it.
absl::StatusOr<std::string> ScoreInfluence(const JudgeFlags& flags, const SubsetPlan& plan,
                                           const std::vector<InfluenceFile>& influence, const std::string& predictions,
                                           const std::string& model, JudgedRun* run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_RUN_JUDGE_H_
