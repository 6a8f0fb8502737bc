#include "tools/tracin/judge/judge_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/input_files.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/judge/outcomes.h"

DECLARE_string(train);
DECLARE_string(test);
DECLARE_string(model);
DECLARE_string(output);
DECLARE_string(stratify_by);
DECLARE_uint64(seed);
DECLARE_int32(num_processes);
DECLARE_bool(progress);

DEFINE_int64(
    plan_subsets, 0,
    "Draw so many random subsets of the training examples of the run in the argument, by --seed, and write them "
    "to --output. train --subset trains on one.");
DEFINE_double(kept, 0.5, "With --plan_subsets or --judge: share of the training examples that a subset keeps.");
DEFINE_string(
    lds, "",
    "File of --plan_subsets: compare the scores in the influence files that are the arguments with the models "
    "of --predictions, and print their linear datamodeling scores.");
DEFINE_string(
    predictions, "",
    "With --lds: models that were trained on the subsets (files, globs, run directories, with commas between), "
    "evaluate's predictions with them, or a table *.tsv with the columns subset, seed, test and value.");
DEFINE_string(judge, "",
              "Directory for a plan, a training on each of its subsets, and the scores of influence files of the run: "
              "the arguments are the run and these files. What is there already is not done again.");
DEFINE_string(
    retrain, "",
    "With --judge: in place of the score, remove examples for each test, train without them, and say what "
    "changed. topN: the N examples that help the test most (--rank=proponents); randomN: N drawn by --seed; with "
    "commas between.");
DEFINE_int32(seeds, 1, "With --judge: trainings on each subset, with the seed of the run and those after it.");
DEFINE_validator(seeds, [](const char*, int32_t value) { return value >= 1 && value <= 1000; });

namespace rutile {
namespace {

using Names = std::set<std::string>;

// The flags that choose and read data, which all modes have.
const Names& DataFlags() {
  static const Names& names = *new Names{
      "train",      "test",       "energy_key",     "force_key", "stress_key",     "virial_key",       "runner_units",
      "xsf_forces", "test_split", "test_direction", "edge_map",  "node_name_dict", "inverse_examples", "seed",
      "threads",    "progress",   "timing",         "flagfile"};
  return names;
}

const Names& TestFlags() {
  static const Names& names = *new Names{"test_quantity", "test_atom", "test_component"};
  return names;
}

// INVALID_ARGUMENT for the first flag that tracin itself defines, is given, and is in none of the sets. why: "with
// --lds".
absl::Status RefuseOthers(const std::string& why, std::initializer_list<const Names*> allowed) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!absl::StrContains(flag.filename, "tools/") || !FlagGiven(flag.name.c_str())) continue;
    const bool is_allowed =
        std::any_of(allowed.begin(), allowed.end(), [&](const Names* names) { return names->count(flag.name) > 0; });
    if (!is_allowed) RETURN_IF_ERROR(RefuseFlags(why, {flag.name.c_str()}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Files(const std::string& text) {
  if (text.empty()) return std::vector<std::string>();
  return ExpandInputs(SplitInputs(text));
}

absl::StatusOr<std::vector<Removal>> ParseRemovals(const std::string& text) {
  std::vector<Removal> removals;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    Removal removal;
    removal.name = std::string(word);
    absl::string_view number = word;
    removal.is_random = absl::ConsumePrefix(&number, "random");
    if ((!removal.is_random && !absl::ConsumePrefix(&number, "top")) || !absl::SimpleAtoi(number, &removal.count) ||
        removal.count < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--retrain=", text, ": expected topN and randomN with commas between, as in top5,random5"));
    }
    removals.push_back(removal);
  }
  return removals;
}

absl::StatusOr<JudgeMode> ModeFromFlags() {
  if (!FLAGS_judge.empty()) {
    RETURN_IF_ERROR(RefuseFlags("with --judge", {"lds", "predictions", "output"}));
    return FLAGS_retrain.empty() ? JudgeMode::kJudge : JudgeMode::kRetrain;
  }
  RETURN_IF_ERROR(RefuseFlags("without --judge=DIR", {"retrain", "seeds"}));
  if (!FLAGS_lds.empty()) {
    RETURN_IF_ERROR(RefuseFlags("with --lds", {"plan_subsets", "kept"}));
    return JudgeMode::kScore;
  }
  RETURN_IF_ERROR(RefuseFlags("without --lds", {"predictions"}));
  if (FlagGiven("plan_subsets")) return JudgeMode::kPlan;
  RETURN_IF_ERROR(RefuseFlags("without --plan_subsets or --judge", {"kept"}));
  return JudgeMode::kNone;
}

absl::Status RefuseOfMode(JudgeMode mode) {
  static const Names& plan = *new Names{"plan_subsets", "kept", "output", "stratify_by"};
  static const Names& score = *new Names{"lds", "predictions", "model"};
  switch (mode) {
    case JudgeMode::kNone:
      return absl::OkStatus();
    case JudgeMode::kPlan:
      return RefuseOthers("with --plan_subsets", {&DataFlags(), &plan});
    case JudgeMode::kScore:
      return RefuseOthers("with --lds", {&DataFlags(), &TestFlags(), &score});
    case JudgeMode::kJudge:
    case JudgeMode::kRetrain:
      break;  // flags for scores are passed on to the tracin that computes them
  }
  RETURN_IF_ERROR(RefuseFlags(
      "with --judge, which needs all scores and keeps them in its directory",
      {"top_k", "rank", "self", "mode", "merge", "shard", "sample_rate", "aggregate", "test_weights", "csv_output",
       "json_output", "output_per_triple", "skip_existing", "resume", "model", "hops", "unrolled"}));
  if (mode == JudgeMode::kJudge) return absl::OkStatus();
  return RefuseFlags("with --retrain", {"plan_subsets", "kept", "stratify_by"});
}

}  // namespace

std::vector<std::string> GivenScoreFlags() {
  static const Names& own =
      *new Names{"plan_subsets", "kept",          "lds",         "predictions", "judge", "retrain",
                 "seeds",        "num_processes", "stratify_by", "progress",    "timing"};
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> given;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!absl::StrContains(flag.filename, "tools/") || !FlagGiven(flag.name.c_str()) || own.count(flag.name) > 0) {
      continue;
    }
    given.push_back(absl::StrCat("--", flag.name, "=", flag.current_value));
  }
  return given;
}

absl::Status RefuseScoreFlags(const std::string& why) {
  static const Names& judge =
      *new Names{"judge", "plan_subsets", "kept", "stratify_by", "retrain", "seeds", "num_processes"};
  return RefuseOthers(why, {&DataFlags(), &TestFlags(), &judge});
}

absl::StatusOr<JudgeFlags> JudgeFlagsFromFlags() {
  JudgeFlags flags;
  ASSIGN_OR_RETURN(flags.mode, ModeFromFlags());
  RETURN_IF_ERROR(RefuseOfMode(flags.mode));
  if (flags.mode == JudgeMode::kNone) return flags;
  if (FLAGS_train.empty()) return absl::InvalidArgumentError("needs --train: the data that the run was trained on");
  ASSIGN_OR_RETURN(flags.train, Files(FLAGS_train));
  ASSIGN_OR_RETURN(flags.test, Files(FLAGS_test));
  if (flags.test.empty() && flags.mode != JudgeMode::kPlan) {
    return absl::InvalidArgumentError("needs --test: the tests that the scores are of");
  }
  if (flags.mode == JudgeMode::kPlan) RETURN_IF_ERROR(RefuseFlags("with --plan_subsets", {"test", "test_split"}));
  if (FlagGiven("plan_subsets")) {
    flags.num_subsets = FLAGS_plan_subsets;
    if (flags.num_subsets < 1 || flags.num_subsets > 1000000) {
      return absl::InvalidArgumentError(absl::StrCat("--plan_subsets=", FLAGS_plan_subsets, ": expected 1 to 1000000"));
    }
  }
  if (flags.mode == JudgeMode::kJudge && flags.num_subsets < kFewestSubsets) {
    return absl::InvalidArgumentError(absl::StrCat("--plan_subsets=", flags.num_subsets, ": --judge needs ",
                                                   kFewestSubsets, " or more (100 are usual)"));
  }
  flags.kept = FLAGS_kept;
  if (!(flags.kept > 0 && flags.kept < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("--kept=", FLAGS_kept, ": expected a share above 0 and below 1"));
  }
  if (flags.mode == JudgeMode::kPlan && (FLAGS_output.empty() || FLAGS_output == "-")) {
    return absl::InvalidArgumentError("--plan_subsets: needs --output=subsets.safetensors, a file");
  }
  if (flags.mode == JudgeMode::kScore && FLAGS_predictions.empty()) {
    return absl::InvalidArgumentError("--lds: needs --predictions: the models that were trained on the subsets");
  }
  flags.stratify_by = FLAGS_stratify_by;
  flags.seed = FLAGS_seed;
  flags.output = FLAGS_output;
  flags.plan = FLAGS_lds;
  flags.predictions = absl::StrSplit(FLAGS_predictions, ',', absl::SkipEmpty());
  flags.model = FLAGS_model;
  flags.directory = std::string(absl::StripSuffix(FLAGS_judge, "/"));
  flags.seeds = FLAGS_seeds;
  flags.num_processes = FLAGS_num_processes;
  flags.progress = FLAGS_progress;
  if (!FLAGS_retrain.empty()) {
    ASSIGN_OR_RETURN(flags.removals, ParseRemovals(FLAGS_retrain));
  }
  return flags;
}

}  // namespace rutile
