#include "tools/tracin/judge/subset_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/file.h"
#include "lib/base/input_files.h"
#include "lib/base/parallel_for.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/train/files/run_directory.h"
#include "tools/tracin/judge/training_queue.h"

namespace rutile {
namespace {

// Flags of train that a training on a subset has of its own, or that decide nothing but what is kept and shown.
bool IsOwnFlag(absl::string_view name) {
  static const auto& names = *new std::set<absl::string_view>{"output_dir",
                                                              "seed",
                                                              "committee",
                                                              "subset",
                                                              "resume",
                                                              "override",
                                                              "overwrite",
                                                              "patience",
                                                              "min_delta",
                                                              "save_top_k",
                                                              "average_best",
                                                              "progress",
                                                              "plot",
                                                              "plot_every",
                                                              "quiet",
                                                              "verbose",
                                                              "save_energies",
                                                              "save_forces",
                                                              "log_interval",
                                                              "logger",
                                                              "log_every_n_steps",
                                                              "save_interval",
                                                              "num_processes",
                                                              "threads",
                                                              "keep_every_epochs",
                                                              "keep_every_steps",
                                                              "keep_every_time",
                                                              "fast_dev_run",
                                                              "barebones",
                                                              "timing"};
  return names.count(name) > 0;
}

// The flag of "--name=value", "--name" or "--noname"; "" for an input.
absl::string_view FlagOf(absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "-")) return "";
  absl::ConsumePrefix(&word, "-");
  return word.substr(0, word.find('='));
}

bool IsOwnWord(absl::string_view word) {
  absl::string_view name = FlagOf(word);
  return IsOwnFlag(name) || (absl::ConsumePrefix(&name, "no") && IsOwnFlag(name));
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

}  // namespace

std::string FlagsOfSubsetRuns(absl::string_view flags) {
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(flags, '\n', absl::SkipEmpty())) {
    const absl::string_view word = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(word, "#") || IsOwnWord(word)) continue;
    absl::StrAppend(&kept, word, "\n");
  }
  return kept;
}

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
  RETURN_IF_ERROR(MakeDirectories(flags.directory));
  return runs;
}

std::string SubsetRuns::RunPath(int64_t subset, int64_t seed) const {
  return absl::StrFormat("%s/%s-%05d-seed-%d", flags_.directory, stem_, subset, seed);
}

absl::StatusOr<std::vector<std::string>> SubsetRuns::InfluenceFiles(const ToolRun& run) const {
  if (run.args.size() > 1) return ExpandInputs(std::vector<std::string>(run.args.begin() + 1, run.args.end()));
  std::vector<std::string> checkpoints = RunDirectory(directory_).NumberedCheckpoints();
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
  PrintMessage(absl::StrCat("influence of ", checkpoints.size(), " checkpoints -> ", output));
  RETURN_IF_ERROR(RunTrainings({command}, 1, [] {}));
  return std::vector<std::string>{output};
}

absl::Status SubsetRuns::Train(const SubsetPlan& plan) const {
  ASSIGN_OR_RETURN(const std::string train, SiblingProgram("train"));
  const RunDirectory run(directory_);
  const std::string flag_file = absl::StrCat(flags_.directory, "/flags.txt");
  {
    ASSIGN_OR_RETURN(const FileContents flags, FileContents::Open(run.flags()));
    RETURN_IF_ERROR(WriteFileAtomically(flag_file, FlagsOfSubsetRuns(flags.data())));
  }
  std::vector<TrainingCommand> commands;
  for (int64_t seed = first_seed_; seed < first_seed_ + flags_.seeds; ++seed) {
    for (int64_t m = 0; m < plan.num_subsets; ++m) {
      const std::string path = RunPath(m, seed);
      if (FileExists(RunDirectory(path).finished())) continue;
      TrainingCommand& command = commands.emplace_back();
      command.command = {train,
                         absl::StrCat("--flagfile=", flag_file),
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

std::string SubsetRuns::Models(const SubsetPlan& plan) const {
  std::vector<std::string> paths;
  for (int64_t seed = first_seed_; seed < first_seed_ + flags_.seeds; ++seed) {
    for (int64_t m = 0; m < plan.num_subsets; ++m) paths.push_back(RunPath(m, seed));
  }
  return absl::StrJoin(paths, ",");
}

}  // namespace rutile
