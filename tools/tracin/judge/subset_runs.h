// The trainings of a judge's directory: on each subset of a plan, with each seed, as the run itself was trained.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/files/subsets_file.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/judge/judge_flags.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/judge/subset_models.h"

namespace rutile {

// The files of --judge=DIR.
class SubsetRuns {
 public:
  // directory: that of the run to judge. Makes DIR with run.txt and flags.txt, what tells the run from others and the
  // flags of its trainings. INVALID_ARGUMENT if the run has not ended by a limit on its epochs or steps: trainings on
  // subsets must have the same length, which early stopping would choose anew for each. INVALID_ARGUMENT also if DIR is
  // of another run, or of this run before it was trained again.
  static absl::StatusOr<SubsetRuns> Create(const std::string& directory, const JudgeFlags& flags);

  // Paths in DIR: the plan of subsets, and the table of scores.
  std::string PlanPath() const { return flags_.directory + "/" + stem_ + "s.safetensors"; }
  std::string TablePath() const { return flags_.directory + "/" + table_; }

  // Returns the influence files in the arguments after the run, or computes that of the command's other flags with the
  // run's checkpoints of epochs, or else of steps; with a curvature of structures, with its last checkpoint alone.
  absl::StatusOr<std::vector<std::string>> InfluenceFiles(const ToolRun& run, const JudgedRun& judged) const;

  // Trains what has not been trained yet, num_processes at a time.
  absl::Status Train(const SubsetPlan& plan) const;

  // Returns the last models of the trainings. INVALID_ARGUMENT: one was not trained as the run was.
  absl::StatusOr<std::vector<SubsetModel>> Models(const SubsetPlan& plan) const;

 private:
  SubsetRuns(std::string directory, const JudgeFlags& flags);
  std::string FlagFile() const { return flags_.directory + "/flags.txt"; }
  std::string RunPath(int64_t subset, int64_t seed) const;

  std::string directory_;
  JudgeFlags flags_;
  std::string stem_, table_;
  int64_t first_seed_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_RUNS_H_
