// Flags of the judge: plans of subsets, scores of attributions, removal and retraining.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_JUDGE_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_JUDGE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rutile {

enum class JudgeMode {
  kNone,    // no flag of the judge
  kPlan,    // --plan_subsets: draws subsets
  kScore,   // --lds: scores influence files against models trained on subsets
  kJudge,   // --judge: plans, trains and scores
  kRetrain  // --judge --retrain: removes examples, trains and reports
};

// A group of examples to remove for each test: "top5", "random5".
struct Removal {
  std::string name;
  bool is_random = false;
  int64_t count = 0;
};

struct JudgeFlags {
  JudgeMode mode = JudgeMode::kNone;
  std::vector<std::string> train, test;  // files, expanded
  int64_t num_subsets = 100;
  double kept = 0.5;
  std::string stratify_by;
  uint64_t seed = 0;
  std::string output;                    // of a plan
  std::string plan;                      // --lds
  std::vector<std::string> predictions;  // models, or a table
  std::string model;                     // --model
  std::string directory;                 // --judge
  int seeds = 1;
  int num_processes = 1;
  bool progress = true;
  std::vector<Removal> removals;
};

// Reads the flags. INVALID_ARGUMENT: a value out of range, a flag that is missing, or one without effect in the mode.
absl::StatusOr<JudgeFlags> JudgeFlagsFromFlags();

// Returns the flags given by which scores are computed, as "--name=value": all but those that tell the judge what to
// do.
std::vector<std::string> GivenScoreFlags();

// INVALID_ARGUMENT for the first flag given that says how scores are computed. `why`: "with --lds".
absl::Status RefuseScoreFlags(const std::string& why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_JUDGE_FLAGS_H_
