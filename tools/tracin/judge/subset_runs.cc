#include "tools/tracin/judge/subset_runs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/machine/parallel_for.h"
#include "lib/train/files/run_directory.h"
#include "tools/tracin/judge/run_identity.h"
#include "tools/tracin/judge/subset_flags.h"
#include "tools/tracin/judge/subset_models.h"
#include "tools/tracin/judge/training_queue.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {
namespace {

// Returns the numbered checkpoints of whole epochs, or else those of steps, by their numbers. The best ones (top-*) are
// among these, or between them.
std::vector<std::string> CheckpointsForInfluence(const RunDirectory& run) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const absl::string_view kind : {"epoch-", "step-"}) {
    for (const std::string& path : run.NumberedCheckpoints()) {
      absl::string_view number = absl::string_view(path).substr(path.rfind('/') + 1);
      int64_t place = 0;
      if (!absl::ConsumePrefix(&number, kind) || !absl::ConsumeSuffix(&number, ".safetensors")) continue;
      if (absl::SimpleAtoi(number, &place)) found.emplace_back(place, path);
    }
    if (!found.empty()) break;
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [place, path] : found) paths.push_back(std::move(path));
  return paths;
}

absl::Status CheckEnded(const RunDirectory& run) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(run.path(), ": ", why,
                     ": --judge needs a run that ended by --max_epochs or --max_steps, for "
                     "trainings on subsets are as long as it"));
  };
  if (!FileExists(run.finished())) return refuse("the run has not ended");
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(run.finished()));
  const std::vector<absl::string_view> lines = absl::StrSplit(contents.data(), '\n');
  const std::string reason(lines.size() > 1 ? lines[1].substr(0, lines[1].find('\t')) : "");
  if (absl::StartsWith(reason, "max_epochs=") || absl::StartsWith(reason, "max_steps=")) return absl::OkStatus();
  return refuse(absl::StrCat("the run ended by ", reason));
}

absl::StatusOr<int64_t> SeedOf(const RunDirectory& run) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(run.config()));
  const nlohmann::json json = nlohmann::json::parse(contents.data().begin(), contents.data().end(), nullptr, false);
  if (json.is_object() && json.contains("seed") && json["seed"].is_number_integer()) return json["seed"].get<int64_t>();
  return absl::InvalidArgumentError(absl::StrCat(run.config(), ": has no \"seed\""));
}

// Returns what train decided for the run where no flag had to say it: its length, the unit of its schedule, and the
// kind of its model.
std::map<std::string, std::string> ResolvedByTrain(const std::map<std::string, std::string>& settings) {
  std::map<std::string, std::string> resolved;
  if (const auto found = settings.find("--max_epochs"); found != settings.end()) resolved["max_epochs"] = found->second;
  const auto schedule = settings.find("--lr_scheduler"), interval = settings.find("--lr_interval");
  const bool spans = schedule != settings.end() &&
                     (schedule->second == "cosine" || schedule->second == "linear" || schedule->second == "polynomial");
  if (spans && interval != settings.end() && interval->second != "auto") resolved["lr_interval"] = interval->second;
  if (const auto found = settings.find("kge_model"); found != settings.end()) {
    resolved["kge_model"] = found->second;
    // Versions without the flag had no other recipe.
    const auto recipe = settings.find("--kge_recipe");
    resolved["kge_recipe"] = recipe == settings.end() ? "plain" : recipe->second;
    return resolved;
  }
  // Versions without the flag learned no other kind.
  const auto found = settings.find("--potential");
  resolved["potential"] = found == settings.end() ? "chebyshev" : found->second;
  return resolved;
}

}  // namespace

SubsetRuns::SubsetRuns(std::string directory, const JudgeFlags& flags)
    : directory_(std::move(directory)),
      flags_(flags),
      stem_(flags.mode == JudgeMode::kRetrain ? "removal" : "subset"),
      table_(flags.mode == JudgeMode::kRetrain ? "removals.tsv" : "lds.tsv") {}

absl::StatusOr<SubsetRuns> SubsetRuns::Create(const std::string& directory, const JudgeFlags& flags) {
  const RunDirectory run(directory);
  RETURN_IF_ERROR(CheckEnded(run));
  SubsetRuns runs(directory, flags);
  ASSIGN_OR_RETURN(runs.first_seed_, SeedOf(run));
  ASSIGN_OR_RETURN(const std::string identity, IdentityOfRun(directory));
  ASSIGN_OR_RETURN(const FileContents all_flags, FileContents::Open(run.flags()));
  RETURN_IF_ERROR(CheckMakesRunAgain(run.flags(), all_flags.data()));
  const std::string record = absl::StrCat(flags.directory, "/run.txt");
  if (FileExists(runs.FlagFile()) && !FileExists(record)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.directory, ": is the directory of a run, or of a judge of an older version, which did not ",
                     "say of which run its trainings are: give another --judge"));
  }
  RETURN_IF_ERROR(MakeDirectories(flags.directory));
  RETURN_IF_ERROR(WriteOrCompare(record, identity, "trainings of another run"));
  ASSIGN_OR_RETURN(const TrainingSetup setup, ReadTrainingSetup(run.last()));
  const std::map<std::string, std::string> resolved = ResolvedByTrain(setup.settings);
  const std::string shared = FlagsOfSubsetRuns(all_flags.data(), resolved);
  if (FileExists(runs.FlagFile())) {
    ASSIGN_OR_RETURN(const FileContents there, FileContents::Open(runs.FlagFile()));
    // A version that did not write what train decides trained with what was decided then. Further trainings need it.
    const std::string former = WithoutFormerDefaults(shared, resolved);
    if (there.data() != shared && WithoutFormerDefaults(there.data(), resolved) == former) {
      RETURN_IF_ERROR(WriteFileAtomically(runs.FlagFile(), shared));
    }
  }
  RETURN_IF_ERROR(WriteOrCompare(runs.FlagFile(), shared, "trainings with other flags"));
  return runs;
}

std::string SubsetRuns::RunPath(int64_t subset, int64_t seed) const {
  return absl::StrFormat("%s/%s-%05d-seed-%d", flags_.directory, stem_, subset, seed);
}

absl::StatusOr<std::vector<std::string>> SubsetRuns::InfluenceFiles(const ToolRun& run, const JudgedRun& judged) const {
  if (run.args.size() > 1) {
    RETURN_IF_ERROR(RefuseScoreFlags("with influence files after the run, which have their scores"));
    return ExpandInputs(std::vector<std::string>(run.args.begin() + 1, run.args.end()));
  }
  const RunDirectory of_run(directory_);
  std::vector<std::string> checkpoints = CheckpointsForInfluence(of_run);
  // Curvature is that of the minimum, where the run has come nearest at its end; of graphs, whose curvature is in
  // blocks, the mean over checkpoints is better (docs/influence.md).
  ASSIGN_OR_RETURN(const Precondition precondition, PreconditionFromFlag());
  const bool is_curvature = precondition == Precondition::kGaussNewton || precondition == Precondition::kEkFac;
  if (is_curvature && judged.examples() == kStructureExamples && FileExists(of_run.checkpoint())) {
    checkpoints = {of_run.checkpoint()};
  }
  if (checkpoints.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(directory_,
                                                   ": has no numbered checkpoints to compute influence from (train "
                                                   "--keep_every_epochs): give influence files after the run"));
  }
  const std::string output = absl::StrCat(flags_.directory, "/influence.safetensors");
  TrainingCommand command;
  command.log = absl::StrCat(flags_.directory, "/influence.log");
  ASSIGN_OR_RETURN(const std::string tracin, SiblingProgram("tracin"));
  command.command = {tracin};
  const std::vector<std::string> given = GivenScoreFlags();
  command.command.insert(command.command.end(), given.begin(), given.end());
  command.command.insert(command.command.end(),
                         {"--top_k=0", "--skip_existing", "--progress=false", absl::StrCat("--output=", output)});
  command.command.insert(command.command.end(), checkpoints.begin(), checkpoints.end());
  PrintMessage(absl::StrCat("influence of ", checkpoints.size(),
                            checkpoints.size() == 1 ? " checkpoint -> " : " checkpoints -> ", output));
  RETURN_IF_ERROR(RunTrainings({command}, 1, [] {}));
  return std::vector<std::string>{output};
}

absl::Status SubsetRuns::Train(const SubsetPlan& plan) const {
  ASSIGN_OR_RETURN(const std::string train, SiblingProgram("train"));
  std::vector<TrainingCommand> commands;
  for (int64_t seed = first_seed_; seed < first_seed_ + flags_.seeds; ++seed) {
    for (int64_t m = 0; m < plan.num_subsets; ++m) {
      const std::string path = RunPath(m, seed);
      if (FileExists(RunDirectory(path).finished())) continue;
      TrainingCommand& command = commands.emplace_back();
      command.command = {train,
                         absl::StrCat("--flagfile=", FlagFile()),
                         absl::StrCat("--subset=", plan.path, ":", m),
                         absl::StrCat("--seed=", seed),
                         absl::StrCat("--output_dir=", path),
                         "--overwrite",
                         "--progress=false",
                         "--plot=false"};
      if (flags_.num_processes > 1) {
        command.command.push_back(
            absl::StrCat("--threads=", std::max(1, AvailableProcessors() / flags_.num_processes)));
      }
      command.log = absl::StrCat(path, ".log");
    }
  }
  const int64_t all = plan.num_subsets * flags_.seeds, found = all - static_cast<int64_t>(commands.size());
  PrintMessage(absl::StrCat(all, " trainings in ", flags_.directory,
                            found > 0 ? absl::StrCat(", of which ", found, " are there already") : ""));
  ProgressBar progress("train", static_cast<int64_t>(commands.size()), flags_.progress && !commands.empty());
  const absl::Status status = RunTrainings(commands, flags_.num_processes, [&] { progress.Add(1); });
  progress.Finish();
  return status;
}

absl::StatusOr<std::vector<SubsetModel>> SubsetRuns::Models(const SubsetPlan& plan) const {
  std::vector<std::string> paths;
  for (int64_t seed = first_seed_; seed < first_seed_ + flags_.seeds; ++seed) {
    for (int64_t m = 0; m < plan.num_subsets; ++m) paths.push_back(RunPath(m, seed));
  }
  ASSIGN_OR_RETURN(std::vector<SubsetModel> models, FindModels(paths, plan));
  ASSIGN_OR_RETURN(const TrainingSetup of_run, ReadTrainingSetup(RunDirectory(directory_).last()));
  if (!models.empty()) RETURN_IF_ERROR(CheckSameSetup(of_run, models[0].setup));
  return models;
}

}  // namespace rutile
