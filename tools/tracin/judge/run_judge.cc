#include "tools/tracin/judge/run_judge.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/influence/subset_plan.h"
#include "lib/train/files/run_directory.h"
#include "tools/tracin/judge/outcomes.h"
#include "tools/tracin/judge/retrain.h"
#include "tools/tracin/judge/score_methods.h"
#include "tools/tracin/judge/subset_models.h"
#include "tools/tracin/judge/subset_runs.h"

namespace rutile {
namespace {

// The number of subsets below which an interval by bootstrap says little.
constexpr int64_t kFewSubsets = 20;

absl::Status WritePlan(const ToolRun& run, const SubsetPlan& plan, const std::string& path,
                       const std::vector<std::string>& inputs) {
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, SubsetsSchema().kind, inputs));
  return WriteSubsets(path, plan, metadata);
}

// Returns the path of the run in the argument.
absl::StatusOr<std::string> RunOf(const std::vector<std::string>& args) {
  const char* const what = "expected the directory of a run of train";
  if (args.empty()) return absl::InvalidArgumentError(absl::StrCat("no argument: ", what));
  const std::string directory(absl::StripSuffix(args[0], "/"));
  if (FileExists(RunDirectory(directory).last())) return directory;
  return absl::InvalidArgumentError(absl::StrCat(args[0], ": has no last.safetensors: ", what));
}

absl::Status Plan(const ToolRun& run, const JudgeFlags& flags) {
  ASSIGN_OR_RETURN(const std::string directory, RunOf(run.args));
  if (run.args.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(run.args[1], ": --plan_subsets takes one run"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<JudgedRun> judged,
                   OpenJudgedRun(RunDirectory(directory).last(), flags.train, {}));
  ASSIGN_OR_RETURN(const SubsetPlan plan, DrawPlan(flags, *judged, directory));
  RETURN_IF_ERROR(WritePlan(run, plan, flags.output, flags.train));
  PrintMessage(absl::StrCat(plan.num_subsets, " subsets of ", plan.num_examples(), " training ", plan.examples, " -> ",
                            flags.output));
  return absl::OkStatus();
}

absl::Status Score(const ToolRun& run, const JudgeFlags& flags) {
  if (run.args.empty()) return absl::InvalidArgumentError("--lds: needs influence files as arguments");
  ASSIGN_OR_RETURN(const SubsetPlan plan, ReadSubsets(flags.plan));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandInputs(run.args));
  ASSIGN_OR_RETURN(const std::vector<InfluenceFile> influence, ReadScores(paths));
  const bool is_table = std::any_of(flags.predictions.begin(), flags.predictions.end(),
                                    [](const std::string& word) { return absl::EndsWith(word, ".tsv"); });
  if (is_table && flags.predictions.size() > 1) {
    return absl::InvalidArgumentError("--predictions: a table *.tsv has all outcomes: give it alone");
  }
  std::vector<SubsetModel> models;
  if (!is_table) {
    ASSIGN_OR_RETURN(models, FindModels(flags.predictions, plan));
  }
  // Any model tells the descriptor, or the names.
  const std::string any = flags.model.empty() && !models.empty() ? models[0].path : flags.model;
  if (any.empty()) {
    return absl::InvalidArgumentError(
        "--lds: a table does not say how data are read: give --model, a model of the run");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<JudgedRun> judged, OpenJudgedRun(any, flags.train, flags.test));
  RETURN_IF_ERROR(judged->ChooseTests(influence[0]));
  OutcomeMap outcomes;
  if (is_table) {
    ASSIGN_OR_RETURN(outcomes, ReadOutcomeTable(flags.predictions[0], plan, influence[0].influence.tests));
  } else {
    ASSIGN_OR_RETURN(outcomes, PredictTests(models, *judged));
  }
  ASSIGN_OR_RETURN(const std::string table, ScoreInfluence(flags, plan, influence, outcomes, flags.model, *judged));
  std::cout << table;
  return absl::OkStatus();
}

// INVALID_ARGUMENT if another plan was left in the directory.
absl::Status CheckSamePlan(const SubsetPlan& found, const SubsetPlan& plan) {
  if (SubsetsSha256(found) == SubsetsSha256(plan)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(found.path, ": was left by another plan (", found.num_subsets,
                                                 " subsets of ", found.num_examples(), ", share ", found.share,
                                                 ", seed ", found.seed, "); give the same flags, or another --judge"));
}

absl::Status Judge(const ToolRun& run, const JudgeFlags& flags) {
  ASSIGN_OR_RETURN(const std::string directory, RunOf(run.args));
  const std::string model = RunDirectory(directory).last();
  ASSIGN_OR_RETURN(const std::unique_ptr<JudgedRun> judged, OpenJudgedRun(model, flags.train, flags.test));
  ASSIGN_OR_RETURN(const SubsetRuns runs, SubsetRuns::Create(directory, flags));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, runs.InfluenceFiles(run, *judged));
  const bool retrains = flags.mode == JudgeMode::kRetrain;
  if (retrains && paths.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(paths[1], ": --retrain removes by the scores of one file, and ",
                                                   paths[0], " is there, too: give one of them"));
  }
  ASSIGN_OR_RETURN(const std::vector<InfluenceFile> influence, ReadScores(paths));
  RETURN_IF_ERROR(judged->ChooseTests(influence[0]));
  const std::string path = runs.PlanPath();
  absl::StatusOr<SubsetPlan> plan =
      retrains ? RemovalPlan(flags, influence[0], *judged, directory) : DrawPlan(flags, *judged, directory);
  RETURN_IF_ERROR(plan.status());
  plan->path = path;
  // What does not fit is better known before the trainings than after them.
  for (const InfluenceFile& file : influence) RETURN_IF_ERROR(ScoresByLine(file, *plan, *judged).status());
  if (FileExists(path)) {
    ASSIGN_OR_RETURN(const SubsetPlan found, ReadSubsets(path));
    RETURN_IF_ERROR(CheckSamePlan(found, *plan));
  } else {
    RETURN_IF_ERROR(WritePlan(run, *plan, path, flags.train));
  }
  RETURN_IF_ERROR(runs.Train(*plan));
  ASSIGN_OR_RETURN(const std::vector<SubsetModel> models, runs.Models(*plan));
  std::string table;
  if (retrains) {
    ASSIGN_OR_RETURN(table, ReportRemovals(flags, *plan, influence[0], models, judged.get()));
  } else {
    ASSIGN_OR_RETURN(const OutcomeMap outcomes, PredictTests(models, *judged));
    ASSIGN_OR_RETURN(table, ScoreInfluence(flags, *plan, influence, outcomes, model, *judged));
  }
  std::cout << table;
  return WriteFileAtomically(runs.TablePath(), table);
}

}  // namespace

absl::StatusOr<SubsetPlan> DrawPlan(const JudgeFlags& flags, const JudgedRun& run, const std::string& directory) {
  SubsetPlan plan;
  plan.examples = run.examples();
  ASSIGN_OR_RETURN(plan.lines, run.Lines(directory));
  plan.num_subsets = flags.num_subsets;
  plan.share = flags.kept;
  plan.seed = flags.seed;
  plan.stratify_by = flags.stratify_by;
  std::vector<int64_t> strata;
  if (!flags.stratify_by.empty()) {
    ASSIGN_OR_RETURN(strata, run.Strata(plan.lines, flags.stratify_by));
  }
  SubsetPlanOptions options;
  options.num_subsets = flags.num_subsets;
  options.kept = flags.kept;
  options.seed = flags.seed;
  ASSIGN_OR_RETURN(plan.kept, DrawSubsets(plan.num_examples(), options, strata, run.Links(plan.lines)));
  return plan;
}

absl::StatusOr<std::vector<InfluenceFile>> ReadScores(const std::vector<std::string>& paths) {
  std::vector<InfluenceFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(InfluenceFile file, ReadInfluence(path));
    files.push_back(std::move(file));
    const InfluenceDescription &first = files[0].description, &last = files.back().description;
    const char* what = nullptr;
    if (first.test_names != last.test_names || files[0].influence.tests != files.back().influence.tests) what = "tests";
    if (first.test_quantity != last.test_quantity) what = "quantities of tests";
    if (what != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(paths[0], " and ", path, " have scores of different ", what, ": compare them one by one"));
    }
  }
  return files;
}

absl::StatusOr<std::string> ScoreInfluence(const JudgeFlags& flags, const SubsetPlan& plan,
                                           const std::vector<InfluenceFile>& influence, const OutcomeMap& map,
                                           const std::string& model, const JudgedRun& run) {
  const std::vector<int64_t>& tests = influence[0].influence.tests;
  const auto num_tests = static_cast<int64_t>(tests.size());
  std::vector<MethodScores> methods;
  for (const InfluenceFile& file : influence) {
    ASSIGN_OR_RETURN(std::vector<double> score, ScoresByLine(file, plan, run));
    methods.push_back({file.path, std::move(score)});
  }
  ASSIGN_OR_RETURN(const Outcomes outcomes, CompleteOutcomes(map, num_tests));
  if (outcomes.left_out > 0) {
    PrintWarning(absl::StrCat(outcomes.left_out, " subsets lack the model of a seed and do not count"));
  }
  ASSIGN_OR_RETURN(std::vector<MethodScores> baselines, Baselines(plan, run, num_tests, model, flags.seed));
  for (MethodScores& baseline : baselines) methods.push_back(std::move(baseline));
  PrintMessage(absl::StrCat(outcomes.subsets.size(), " subsets that keep ", plan.share, " of ", plan.num_examples(),
                            " training ", plan.examples, ", ", outcomes.seeds.size(),
                            outcomes.seeds.size() == 1 ? " training" : " trainings", " on each, ", num_tests,
                            " tests, quantity: ", influence[0].description.test_quantity));
  if (static_cast<int64_t>(outcomes.subsets.size()) < kFewSubsets) {
    PrintWarning(absl::StrCat("a bootstrap of ", outcomes.subsets.size(),
                              " subsets gives intervals that say little, and are often too narrow: take ", kFewSubsets,
                              " or more; 100 are usual"));
  }
  return DatamodelingTable(methods, plan, outcomes, num_tests, flags.seed);
}

absl::Status RunJudge(const ToolRun& run, const JudgeFlags& flags) {
  switch (flags.mode) {
    case JudgeMode::kPlan:
      return Plan(run, flags);
    case JudgeMode::kScore:
      return Score(run, flags);
    case JudgeMode::kJudge:
    case JudgeMode::kRetrain:
      return Judge(run, flags);
    case JudgeMode::kNone:
      break;
  }
  return absl::OkStatus();
}

}  // namespace rutile
