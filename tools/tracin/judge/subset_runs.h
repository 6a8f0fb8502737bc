// The trainings of a judge's directory: on each subset of a plan, with each seed, as the run itself was trained.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/influence/subsets_file.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/judge/judge_flags.h"

namespace rutile {

// Returns the lines of a run's flags.txt that a training on a subset shares with the run: without the directory, seed,
// early stopping, checkpoints to keep and what is only shown.
std::string FlagsOfSubsetRuns(absl::string_view flags);

// The files of --judge=DIR.
class SubsetRuns {
 public:
  // directory: of the run. Makes DIR. INVALID_ARGUMENT if the run has not ended by a limit on its epochs or steps:
  // trainings on subsets must have the same length, which early stopping would choose anew for each.
  static absl::StatusOr<SubsetRuns> Create(const std::string& directory, const JudgeFlags& flags);

  std::string PlanPath() const { return flags_.directory + "/" + stem_ + "s.safetensors"; }
  std::string TablePath() const { return flags_.directory + "/" + table_; }

  // Returns the influence files in the arguments after the run, or computes that of the command's other flags with all
  // of the run's checkpoints.
  absl::StatusOr<std::vector<std::string>> InfluenceFiles(const ToolRun& run) const;

  // Trains what has not been trained yet, num_processes at a time.
  absl::Status Train(const SubsetPlan& plan) const;

  // Returns the directories of the trainings, with commas between.
  std::string Models(const SubsetPlan& plan) const;

 private:
  SubsetRuns(std::string directory, const JudgeFlags& flags);
  std::string RunPath(int64_t subset, int64_t seed) const;

  std::string directory_;
  JudgeFlags flags_;
  std::string stem_, table_;
  int64_t first_seed_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_
