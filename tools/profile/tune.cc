#include "tools/profile/tune.h"

#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/base/version.h"
#include "lib/file/file.h"
#include "lib/machine/parallel_for.h"
#include "lib/profile/machine_facts.h"
#include "lib/profile/machine_peaks.h"
#include "tools/common/run/flag_file.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/pages/stage_table.h"
#include "tools/profile/search/tune_search.h"
#include "tools/profile/train_command.h"
#include "tools/profile/train_trial.h"

namespace rutile {
namespace {

using State = TuneOutcome::State;

const char* StateName(State state) {
  switch (state) {
    case State::kNotTried:
      return "not_tried";
    case State::kMeasured:
      return "measured";
    case State::kRefused:
      return "refused";
    case State::kFailed:
      return "failed";
  }
  return "";
}

// Returns the table's remark on a candidate.
std::string Remark(const TuneCandidate& candidate, const TuneOutcome& outcome) {
  if (outcome.state == State::kRefused) return absl::StrCat("train refuses: ", outcome.message);
  if (outcome.state == State::kFailed) return outcome.message;
  if (outcome.state == State::kNotTried) return "no time was left: a longer --time_budget";
  return candidate.note;
}

std::string Table(const TuneCandidates& candidates, const TuneResult& result) {
  std::string table = "setting\tstate\tgain\texamples_per_s\ttrials\teffect\trecommended\tnote\n";
  absl::StrAppend(&table, "as_given\tmeasured\t1.000\t", absl::StrFormat("%.6g", result.baseline_rate), "\t",
                  result.baseline.size(), "\tsame\t\t", absl::StrFormat("trials differ by %.1f %%", 100 * result.noise),
                  "\n");
  std::vector<int> order(candidates.tried.size());
  for (size_t c = 0; c < order.size(); ++c) order[c] = static_cast<int>(c);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return result.outcomes[a].gain > result.outcomes[b].gain; });
  for (const int c : order) {
    const TuneCandidate& candidate = candidates.tried[c];
    const TuneOutcome& outcome = result.outcomes[c];
    const bool measured = outcome.state == State::kMeasured;
    const bool chosen = std::count(result.recommended.begin(), result.recommended.end(), c) > 0;
    absl::StrAppend(&table, TuneFlagsText(candidate.flags), "\t", StateName(outcome.state), "\t",
                    measured ? absl::StrFormat("%.3f\t%.6g", outcome.gain, outcome.rate) : "\t", "\t",
                    outcome.gains.size(), "\t", EffectName(candidate.effect), "\t", chosen ? "yes" : "", "\t",
                    TsvCell(Remark(candidate, outcome)), "\n");
  }
  for (const auto& [name, why] : candidates.left_out) {
    absl::StrAppend(&table, name, "\tleft_out\t\t\t0\t\t\t", TsvCell(why), "\n");
  }
  return table;
}

// Returns choices that are faster but change more than the user allows, one of each dimension.
std::vector<int> FasterButNotAllowed(const TuneCandidates& candidates, const TuneResult& result, Effect allow) {
  std::vector<int> found;
  for (size_t c = 0; c < candidates.tried.size(); ++c) {
    if (candidates.tried[c].effect <= allow || result.outcomes[c].gain < 1.05 + 2 * result.noise) continue;
    bool best = true;
    for (size_t d = 0; d < candidates.tried.size(); ++d) {
      best &= candidates.tried[d].dimension != candidates.tried[c].dimension || candidates.tried[d].effect <= allow ||
              result.outcomes[d].gain <= result.outcomes[c].gain;
    }
    if (best) found.push_back(static_cast<int>(c));
  }
  return found;
}

// Returns "0.97 to 1.41 in 5 pairs of runs".
std::string PairsText(const TuneResult& result) {
  if (result.pairs.empty()) return "no pair of runs";
  const auto [least, most] = std::minmax_element(result.pairs.begin(), result.pairs.end());
  return absl::StrFormat("%.2f to %.2f in %d pairs of runs", *least, *most, result.pairs.size());
}

std::string Summary(const TuneCandidates& candidates, const TuneResult& result, Effect allow) {
  std::string text;
  const auto all_are = [&](std::initializer_list<State> states) {
    return std::all_of(result.outcomes.begin(), result.outcomes.end(), [&](const TuneOutcome& outcome) {
      return std::find(states.begin(), states.end(), outcome.state) != states.end();
    });
  };
  if (all_are({State::kRefused, State::kFailed})) {
    return "suggested: the flags as they are; nothing else can be tried\n";
  }
  if (all_are({State::kRefused, State::kFailed, State::kNotTried})) {
    return "suggested: nothing, because nothing was measured: give a longer --time_budget\n";
  }
  if (result.recommended.empty()) {
    text = "suggested: the flags as they are; nothing that keeps the result gains more than the trials differ\n";
    if (allow != Effect::kSame) text = "suggested: the flags as they are; nothing gains more than the trials differ\n";
    if (!result.rejected.empty()) {
      absl::StrAppend(&text, "not suggested: ", result.rejected, ": looked faster, but ", PairsText(result), "\n");
    }
  } else {
    TuneFlags flags;
    for (const int c : result.recommended) {
      const TuneFlags& its = candidates.tried[c].flags;
      flags.insert(flags.end(), its.begin(), its.end());
    }
    text = "suggested:";
    for (const auto& [name, value] : flags) absl::StrAppend(&text, " --", name, "=", value);
    absl::StrAppend(&text, absl::StrFormat(": %.2f times the examples per second", result.recommended_gain),
                    result.only_thrifty ? ", with less of the machine" : "",
                    result.confirmed ? absl::StrCat(" (", PairsText(result), ")")
                                     : std::string(" (not confirmed: no time was left)"),
                    "\n");
    for (const int c : result.recommended) {
      if (candidates.tried[c].effect == Effect::kSame) continue;
      absl::StrAppend(&text, "warning: ", TuneFlagsText(candidates.tried[c].flags), ": ", candidates.tried[c].note,
                      "\n");
    }
  }
  for (const int c : FasterButNotAllowed(candidates, result, allow)) {
    absl::StrAppend(&text, absl::StrFormat("also: --%s: %.2f times, but %s (--allow=%s to have it)\n",
                                           TuneFlagsText(candidates.tried[c].flags), result.outcomes[c].gain,
                                           candidates.tried[c].note, EffectName(candidates.tried[c].effect)));
  }
  return text;
}

// Returns the user's flags and inputs with the recommended flags; faster ones that change more are comments.
absl::StatusOr<std::string> FlagFile(const TrainCommand& command, const TuneCandidates& candidates,
                                     const TuneResult& result, Effect allow) {
  TrainCommand tuned = command;
  for (const int c : result.recommended) {
    for (const auto& [name, value] : candidates.tried[c].flags) tuned.Set(name, value);
  }
  ASSIGN_OR_RETURN(std::string text,
                   FlagFileText(absl::StrFormat("profile %s: %.2f times the examples per second of the flags as given; "
                                                "train --flagfile=THIS",
                                                kVersion, result.recommended_gain),
                                tuned.flags(), tuned.inputs()));
  for (const int c : FasterButNotAllowed(candidates, result, allow)) {
    absl::StrAppend(&text,
                    absl::StrFormat("# %.2f times, but %s:\n#--%s\n", result.outcomes[c].gain,
                                    TsvCell(candidates.tried[c].note), TuneFlagsText(candidates.tried[c].flags)));
  }
  return text;
}

}  // namespace

absl::StatusOr<Effect> ParseEffect(const std::string& text) {
  for (const Effect effect : {Effect::kSame, Effect::kCourse, Effect::kAccuracy}) {
    if (text == EffectName(effect)) return effect;
  }
  return absl::InvalidArgumentError(absl::StrCat("--allow=", text, ": expected same, course or accuracy"));
}

absl::Status Tune(const std::vector<std::string>& command, const TuneModeOptions& options) {
  ASSIGN_OR_RETURN(const TrainCommand train, TrainCommand::Parse(command));
  ASSIGN_OR_RETURN(TrialRunner runner, TrialRunner::Create(train));
  const absl::Time start = absl::Now();
  const auto now = [start] { return absl::ToDoubleSeconds(absl::Now() - start); };

  // Before the first trial, which is no other program.
  const double load = MachineLoad();
  const int machine = FindMachineFacts().machine.processors;
  if (IsBusy(load, machine)) {
    PrintWarning(absl::StrFormat(
        "other programs want processors (a load of %.1f on %d): gains are less certain, and settings that use more "
        "threads look worse than they are",
        load, machine));
  }
  // The run as it is tells which flags are in effect, and what a trial costs beside training.
  ASSIGN_OR_RETURN(const TrialResult first, runner.Run({}, std::clamp(options.budget_s / 60, 0.3, 2.0)));
  PrintMessage(absl::StrFormat("as given: %s examples/s; a trial takes %.1f s beside its training",
                               WithPrefix(first.examples_per_s), first.overhead_s));
  const TuneCandidates candidates = ListCandidates(LookAtInputs(train.inputs()), first.settings, AvailableProcessors());
  std::vector<TuneChoice> choices;
  for (const TuneCandidate& candidate : candidates.tried) {
    choices.push_back(
        {candidate.dimension, candidate.flags, candidate.effect <= options.allow, candidate.note, candidate.thrifty});
  }
  TuneOptions search;
  search.budget_s = options.budget_s - now();
  search.overhead_s = first.overhead_s;
  search.min_trial_s = std::max(search.min_trial_s, 8 * first.step_s);  // fewer steps are too noisy
  search.now = now;
  search.on_message = PrintMessage;
  const TuneMeasure measure = [&runner](const TuneFlags& flags, double seconds) -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const TrialResult trial, runner.Run(flags, seconds));
    return trial.examples_per_s;
  };
  ASSIGN_OR_RETURN(const TuneResult result, SearchTune(choices, measure, search));

  std::cout << Table(candidates, result);
  if (!options.tsv) std::cout << Summary(candidates, result, options.allow);
  if (result.interrupted) PrintMessage("stopped: this is the best so far");
  if (!options.flagfile.empty()) {
    ASSIGN_OR_RETURN(const std::string text, FlagFile(train, candidates, result, options.allow));
    RETURN_IF_ERROR(WriteFileAtomically(options.flagfile, text));
    PrintMessage(absl::StrCat("train --flagfile=", options.flagfile));
  }
  return CheckInterrupt();
}

}  // namespace rutile
