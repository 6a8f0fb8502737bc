#include "tools/tracin/judge/subset_flags.h"

#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace rutile {
namespace {

using Names = std::set<absl::string_view>;

// Flags of train that a training on a subset has of its own, or that decide nothing but what is kept and shown; and
// those that train refuses without one of these.
bool IsOwnFlag(absl::string_view name) {
  static const auto& names = *new Names{
      "output_dir", "seed", "committee", "subset", "resume", "override", "overwrite",
      // Each training has the length of the run.
      "patience", "min_delta", "min_epochs", "min_steps", "max_time", "stopping_threshold", "divergence_threshold",
      // A subset is trained by one process.
      "num_processes", "threads", "strategy", "dist_interface", "dist_timeout", "sync_batchnorm",
      // What is kept and shown.
      "save_top_k", "average_best", "keep_every_epochs", "keep_every_steps", "keep_every_time", "save_interval",
      "save_energies", "save_forces", "progress", "plot", "plot_every", "quiet", "verbose", "log_interval", "logger",
      "log_every_n_steps", "fast_dev_run", "barebones", "timing", "operators"};
  return names.count(name) > 0;
}

// Flags that a training shares with the run, but that change numbers by rounding at most.
bool IsOfMachine(absl::string_view name) {
  static const auto& names = *new Names{"device",
                                        "preload",
                                        "cached_features",
                                        "cache_dir",
                                        "cache_geometry",
                                        "cache_max_bytes",
                                        "cache_neighbors",
                                        "cache_triplets",
                                        "num_workers",
                                        "prefetch_factor",
                                        "persistent_workers",
                                        "mapped_memory",
                                        "memory_cleanup",
                                        "compile_mode",
                                        "compile_cache_dir",
                                        "compile_preset",
                                        "check_gradient",
                                        "gradient_checkpointing"};
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

}  // namespace

std::string FlagsOfSubsetRuns(absl::string_view flags, const std::map<std::string, std::string>& resolved) {
  std::string kept;
  Names said;
  for (const absl::string_view line : absl::StrSplit(flags, '\n', absl::SkipEmpty())) {
    const absl::string_view word = absl::StripLeadingAsciiWhitespace(line);
    if (word.empty() || word[0] == '#' || IsOwnWord(word)) continue;
    absl::StrAppend(&kept, word, "\n");
    said.insert(FlagOf(word));
  }
  std::string first;
  for (const auto& [name, value] : resolved) {
    if (said.count(name) == 0) absl::StrAppend(&first, "--", name, "=", value, "\n");
  }
  return first + kept;
}

std::string WithoutFormerDefaults(absl::string_view flags, const std::map<std::string, std::string>& resolved) {
  static const auto& former = *new std::map<std::string, std::string>{{"potential", "chebyshev"},
                                                                      {"max_epochs", "1000"},
                                                                      {"kge_model", "conve"},
                                                                      {"kge_recipe", "plain"},
                                                                      {"lr_interval", "epoch"}};
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(flags, '\n', absl::SkipEmpty())) {
    const std::string name(FlagOf(line));
    const auto value = former.find(name);
    const bool is_former =
        value != former.end() && resolved.count(name) > 0 && line == absl::StrCat("--", name, "=", value->second);
    if (!is_former) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

namespace {

// True if a change, "monitor is val_loss, was val_mrr", leaves the steps of training what they were.
bool IsOfNoStep(absl::string_view change) {
  const absl::string_view name = change.substr(0, change.find(' '));
  return IsOwnFlag(name) || IsOfMachine(name) || name == "limit_val_batches" || name == "rank_sample" ||
         name == "monitor";
}

}  // namespace

absl::Status CheckMakesRunAgain(absl::string_view path, absl::string_view flags) {
  std::vector<std::string> changes;
  bool is_other = false;
  for (absl::string_view line : absl::StrSplit(flags, '\n', absl::SkipEmpty())) {
    if (!absl::ConsumePrefix(&line, "#")) break;
    line = absl::StripAsciiWhitespace(line);
    if (is_other) {
      // "step 20: learning_rate is 0.02, was 0.01; lr_period is 4, was 2"
      const size_t colon = line.find(": ");
      const absl::string_view place = absl::StartsWith(line, "step ") ? line.substr(0, colon + 2) : "";
      std::vector<absl::string_view> of_steps;
      for (const absl::string_view change : absl::StrSplit(line.substr(place.size()), "; ")) {
        if (!IsOfNoStep(change)) of_steps.push_back(change);
      }
      if (!of_steps.empty()) changes.push_back(absl::StrCat(place, absl::StrJoin(of_steps, "; ")));
    } else {
      is_other = absl::StartsWith(line, "does not make this run again");
    }
  }
  if (changes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the run was resumed with other settings or data (", absl::StrJoin(changes, "; "),
                   "), so no training on a subset can be like it: give a run that was trained in one way from its "
                   "start"));
}

bool DecidesModel(absl::string_view flag) { return !IsOwnFlag(flag) && !IsOfMachine(flag); }

}  // namespace rutile
