#include "tools/tracin/potentials/potential_weights.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/potential/data/config_weights.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// An option of the run's task, "" where it has its default.
std::string OptionOf(const CheckpointSummary& checkpoint, const std::string& name) {
  const auto found = checkpoint.task.find(name);
  return found == checkpoint.task.end() ? "" : found->second;
}

// INVALID_ARGUMENT unless all checkpoints have the option as the first one has it.
absl::Status CheckSameOption(const CheckpointSet& checkpoint_set, const std::string& name, const char* of_what) {
  const CheckpointSummary& first = checkpoint_set.checkpoints[0];
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    if (OptionOf(checkpoint, name) == OptionOf(first, name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint.path, ": its run went on with --", name, "=", OptionOf(checkpoint, name), ", but ", first.path,
        " had --", name, "=", OptionOf(first, name), ": give checkpoints with the same ", of_what));
  }
  return absl::OkStatus();
}

size_t NumTerms(const LossOptions& loss) { return 1 + (loss.force_weight > 0) + (loss.stress_weight > 0); }

// Selects from [energy, force, stress] the terms that exist under the loss; energy always does.
std::vector<double> TermsOf(const LossOptions& loss, const std::array<double, 3>& by_quantity) {
  std::vector<double> terms = {by_quantity[0]};
  if (loss.force_weight > 0) terms.push_back(by_quantity[1]);
  if (loss.stress_weight > 0) terms.push_back(by_quantity[2]);
  return terms;
}

// How many values of energy, force and stress the examples have, by the structures' weights, as training counts them.
std::array<double, 3> CountValues(const AtomicData& train, absl::Span<const int64_t> examples) {
  std::array<double, 3> counts = {};
  for (const int64_t s : examples) {
    if (train.has_energy(s)) counts[0] += train.weight(s);
    counts[1] += train.weight(s) * static_cast<double>(train.force(s).size());
    if (train.has_stress(s)) counts[2] += 9 * train.weight(s);
  }
  return counts;
}

// True if an epoch of the run learned from other values than those of each example once.
bool LearnsFromAPart(const CheckpointSummary& checkpoint, const LossOptions& loss) {
  if (loss.force_weight > 0 && !OptionOf(checkpoint, "force_fraction").empty()) return true;
  return checkpoint.config.count("limit_train_batches") > 0 || checkpoint.config.count("sampling_policy") > 0;
}

// Multiplies the weights of sums over an epoch so that they become weights of sums over all values.
absl::Status CountAll(const CheckpointSummary& checkpoint, const LossOptions& loss, const std::vector<double>& all,
                      std::vector<double>* weights) {
  if (checkpoint.loss_count.size() != weights->size()) {
    if (!LearnsFromAPart(checkpoint, loss)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.path,
                     ": an epoch of the run learned from a part of the data (--force_fraction or "
                     "--limit_train_batches), and the checkpoint, of an older version, does not say how large it was: "
                     "give --term_weights"));
  }
  for (size_t t = 0; t < weights->size(); ++t) {
    if (!(all[t] > 0)) continue;
    double share = checkpoint.loss_count[t] / all[t];
    if (std::abs(share - 1) < 1e-9) continue;  // sums in another order
    // The share of the sample is in its count once more, and under a root in the loss.
    const bool scaled = t == 1 && loss.force_weight > 0 && loss.force_scale_unbiased;
    if (scaled && loss.kind == LossKind::kRmse) share = std::pow(share, 0.75);
    (*weights)[t] *= share;
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointLoss> LossAt(const TracinFlags& flags, const CheckpointSummary& checkpoint,
                                      const std::vector<double>& given, bool tests_are_losses) {
  CheckpointLoss at;
  absl::StatusOr<LossOptions> trained = LossOfConfig(checkpoint.task);
  if (!trained.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": config: ", trained.status().message()));
  }
  at.loss = *trained;
  if (!given.empty()) return at;
  at.weights = checkpoint.loss_weight;
  if (at.weights.size() != NumTerms(at.loss)) {
    return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": has ", at.weights.size(),
                                                   " weights of terms of the loss, expected ", NumTerms(at.loss)));
  }
  if (*std::max_element(at.weights.begin(), at.weights.end()) == 0) {
    if (flags.unrolled) {
      // Each step has the weights of its own batch; those of an epoch are for the losses of tests alone.
      at.weights.clear();
      if (!tests_are_losses) return at;
      return absl::InvalidArgumentError(
          absl::StrCat(checkpoint.path,
                       ": --test_quantity=loss: what errors count in the loss of a test is recorded once the first "
                       "epoch has ended: train longer, or ask for another --test_quantity"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.path,
                     ": is from within the first epoch, or the first since its run went on with another loss or other "
                     "data, before anything is known of what errors count: leave it out, or give --term_weights"));
  }
  return at;
}

// Scores count each example once. A run that drew some more often did not.
absl::Status CheckSampling(const TracinFlags& flags, const CheckpointSummary& checkpoint) {
  const auto policy = checkpoint.config.find("sampling_policy");
  if (policy == checkpoint.config.end() || policy->second == "uniform") return absl::OkStatus();
  return WarnOrRefuse(flags, absl::StrCat(checkpoint.path, ": its run drew structures with --sampling_policy=",
                                          policy->second, ", some more often than others; in scores each counts once"));
}

// Makes the recorded weights of a checkpoint those of the examples' losses.
absl::Status ScaleWeights(const CheckpointSummary& checkpoint, const std::array<double, 3>& counts, size_t num_examples,
                          CheckpointLoss* at) {
  for (double& weight : at->weights) weight *= static_cast<double>(num_examples);
  return CountAll(checkpoint, at->loss, TermsOf(at->loss, counts), &at->weights);
}

// Returns the weights of the last checkpoint of the run that a model file lies in, "" if there is none, or if they
// would count otherwise with the model file: of weighted structures, or of Huber's function.
std::string WeightsBeside(const TracinFlags& flags, const std::string& checkpoint, const std::array<double, 3>& counts,
                          size_t num_examples) {
  if (!FileExists(checkpoint)) return "";
  const absl::StatusOr<CheckpointSummary> last = ReadCheckpointSummary(checkpoint);
  if (!last.ok() || !OptionOf(*last, "config_weights").empty() || !OptionOf(*last, "weight_key").empty()) return "";
  absl::StatusOr<CheckpointLoss> loss = LossAt(flags, *last, {}, /*tests_are_losses=*/true);
  if (!loss.ok() || loss->loss.kind == LossKind::kHuber) return "";
  return ScaleWeights(*last, counts, num_examples, &*loss).ok() ? TermWeightsText(*loss) : "";
}

absl::Status NeedsTermWeights(const TracinFlags& flags, const std::string& model, const std::array<double, 3>& counts,
                              size_t num_examples) {
  const size_t slash = model.rfind('/');
  const std::string checkpoint = RunDirectory(slash == std::string::npos ? "." : model.substr(0, slash)).checkpoint();
  const std::string beside = WeightsBeside(flags, checkpoint, counts, num_examples);
  return absl::InvalidArgumentError(absl::StrCat(
      model,
      ": a model file does not say what its errors counted in training: give --term_weights, of the squared errors of "
      "energy per atom, each force component and each stress component, summed over a structure. ",
      beside.empty() ? "tracin --mode=curvature prints those of a checkpoint; with --loss=mse that of forces is "
                       "--force_weight times the number of structures, over that of their force components"
                     : absl::StrCat("Those of ", checkpoint, " are --term_weights=", beside)));
}

}  // namespace

absl::StatusOr<AtomicDataOptions> WeightsOfRun(const CheckpointSet* checkpoint_set) {
  AtomicDataOptions options;
  if (checkpoint_set == nullptr || checkpoint_set->are_models()) return options;
  for (const char* name : {"config_weights", "weight_key"}) {
    RETURN_IF_ERROR(CheckSameOption(*checkpoint_set, name, "weights of structures"));
  }
  const CheckpointSummary& first = checkpoint_set->checkpoints[0];
  ASSIGN_OR_RETURN(options.config_weights, ParseConfigWeights(OptionOf(first, "config_weights")));
  options.weight_key = OptionOf(first, "weight_key");
  return options;
}

absl::Status TakeLabelFlagsOfRun(const TracinFlags& flags, const CheckpointSet* checkpoint_set) {
  if (checkpoint_set == nullptr || checkpoint_set->are_models()) return absl::OkStatus();
  for (const std::string& name : StructureReaderFlagNames()) {
    RETURN_IF_ERROR(CheckSameOption(*checkpoint_set, name, "labels"));
    const CheckpointSummary& first = checkpoint_set->checkpoints[0];
    const std::string then = OptionOf(first, name);
    if (!FlagGiven(name.c_str())) {
      if (!then.empty()) gflags::SetCommandLineOptionWithMode(name.c_str(), then.c_str(), gflags::SET_FLAGS_DEFAULT);
      continue;
    }
    const std::string now = gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value;
    if (now == then) continue;
    const std::string what = absl::StrCat("--", name, "=", now, ": the run of ", first.path, " learned from labels of ",
                                          then.empty() ? "the default" : absl::StrCat("--", name, "=", then));
    if (then.empty()) {
      RETURN_IF_ERROR(WarnOrRefuse(flags, what));
    } else {
      return absl::InvalidArgumentError(absl::StrCat(what, ": leave it out"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointLoss>> LossesOfRun(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                                                        const std::vector<double>& given, const AtomicData& train,
                                                        absl::Span<const int64_t> examples, bool tests_are_losses) {
  std::vector<CheckpointLoss> losses(checkpoint_set.size());
  const std::array<double, 3> counts = CountValues(train, examples);
  for (size_t p = 0; p < checkpoint_set.size(); ++p) {
    CheckpointLoss& at = losses[p];
    if (checkpoint_set.are_models()) {
      if (given.empty()) return NeedsTermWeights(flags, checkpoint_set.paths[p], counts, examples.size());
      at.loss.kind = LossKind::kMse;
    } else {
      ASSIGN_OR_RETURN(at, LossAt(flags, checkpoint_set.checkpoints[p], given, tests_are_losses));
    }
    if (!given.empty()) {
      at.loss.energy_weight = given[0];
      at.loss.force_weight = given.size() > 1 ? given[1] : 0;
      at.loss.stress_weight = given.size() > 2 ? given[2] : 0;
      at.weights = TermsOf(at.loss, {at.loss.energy_weight, at.loss.force_weight, at.loss.stress_weight});
      continue;
    }
    if (at.weights.empty()) continue;
    RETURN_IF_ERROR(ScaleWeights(checkpoint_set.checkpoints[p], counts, examples.size(), &at));
  }
  if (!checkpoint_set.are_models()) RETURN_IF_ERROR(CheckSampling(flags, checkpoint_set.checkpoints[0]));
  return losses;
}

std::string TermWeightsText(const CheckpointLoss& at) {
  const bool force = at.loss.force_weight > 0, stress = at.loss.stress_weight > 0;
  std::string text = absl::StrFormat("%.6g", at.weights[0]);
  if (force) absl::StrAppendFormat(&text, ",%.6g", at.weights[1]);
  if (stress) absl::StrAppendFormat(&text, "%s,%.6g", force ? "" : ",0", at.weights.back());
  return text;
}

LossOptions TermsOfAll(absl::Span<const CheckpointLoss> losses) {
  LossOptions all = losses.empty() ? LossOptions() : losses[0].loss;
  for (const CheckpointLoss& at : losses) {
    all.force_weight = std::max(all.force_weight, at.loss.force_weight);
    all.stress_weight = std::max(all.stress_weight, at.loss.stress_weight);
  }
  return all;
}

std::string LossNames(absl::Span<const CheckpointLoss> losses) {
  std::vector<std::string> names;
  for (const CheckpointLoss& at : losses) {
    const std::string name(kLossNames.Name(at.loss.kind));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return absl::StrJoin(names, ",");
}

}  // namespace rutile
