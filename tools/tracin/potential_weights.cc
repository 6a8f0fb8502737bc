#include "tools/tracin/potential_weights.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/config_weights.h"

namespace rutile {
namespace {

// An option of the run's task, "" where it has its default.
std::string OptionOf(const CheckpointSummary& checkpoint, const char* name) {
  const auto found = checkpoint.task.find(name);
  return found == checkpoint.task.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<AtomicDataOptions> WeightsOfRun(const CheckpointSet* checkpoint_set) {
  AtomicDataOptions options;
  if (checkpoint_set == nullptr || checkpoint_set->are_models()) return options;
  const CheckpointSummary& first = checkpoint_set->checkpoints[0];
  for (const char* name : {"config_weights", "weight_key"}) {
    for (const CheckpointSummary& checkpoint : checkpoint_set->checkpoints) {
      if (OptionOf(checkpoint, name) == OptionOf(first, name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          checkpoint.path, ": its run went on with --", name, "=", OptionOf(checkpoint, name), ", but ", first.path,
          " had --", name, "=", OptionOf(first, name), ": give checkpoints with the same weights of structures"));
    }
  }
  ASSIGN_OR_RETURN(options.config_weights, ParseConfigWeights(OptionOf(first, "config_weights")));
  options.weight_key = OptionOf(first, "weight_key");
  return options;
}

absl::Status CountAllForces(const CheckpointSummary& checkpoint, const LossOptions& loss, const AtomicData& train,
                            absl::Span<const int64_t> examples, std::vector<double>* weights) {
  const std::string fraction = OptionOf(checkpoint, "force_fraction");
  if (loss.force_weight == 0 || fraction.empty()) return absl::OkStatus();
  if (checkpoint.loss_count.size() != weights->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.path, ": the run learned from --force_fraction=", fraction,
                     " of the forces, and the checkpoint, of an older version, does not say how many these were: give "
                     "--term_weights"));
  }
  double all = 0;
  for (const int64_t s : examples) all += train.weight(s) * static_cast<double>(train.force(s).size());
  if (all > 0) (*weights)[1] *= checkpoint.loss_count[1] / all;
  return absl::OkStatus();
}

}  // namespace rutile
