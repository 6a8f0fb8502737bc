#include "tools/train/flags/potential_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/task/eager_options.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/flags/loss_flags.h"
#include "tools/train/trainer_flags/eager_flags.h"

namespace rutile {
namespace {

// As accurate as the best recipe on most data, and as long as a run of 1000 epochs on Chebyshev features
// (docs/performance.md, "What the defaults give").
constexpr int64_t kManyBodyEpochs = 200;
constexpr char kDefaultEpochs[] = "default_epochs";  // of a run's recorded options

template <std::size_t n>
bool AnyGiven(const char* const (&flags)[n]) {
  return std::any_of(std::begin(flags), std::end(flags), FlagGiven);
}

bool IsOnGpu() {
  EagerOptions options;
  return EagerFlags().CopyTo(&options).ok() && absl::StartsWith(options.device, "cuda");
}

// A Chebyshev run records no potential: in the versions that wrote the first checkpoints there was no other.
bool WasManyBody(const CheckpointSummary& checkpoint) {
  const auto recorded = checkpoint.task.find("potential");
  return recorded != checkpoint.task.end() && recorded->second == "many-body";
}

}  // namespace

PotentialChoice PotentialChoiceFromFlags(Preset preset, const LossOptions& loss, const std::optional<Potential>& model,
                                         const std::optional<CheckpointSummary>& resumed) {
  if (!PotentialIsOpen() || preset == Preset::kAenet || ChebyshevFlagsGiven()) return PotentialChoice::kByFlags;
  if (resumed.has_value()) return WasManyBody(*resumed) ? PotentialChoice::kManyBody : PotentialChoice::kByFlags;
  if (model.has_value()) {
    return model->descriptor.is_chebyshev() ? PotentialChoice::kByFlags : PotentialChoice::kManyBody;
  }
  if (MomentFlagsGiven() || AnyGiven({"channels", "messages", "vector_messages"})) return PotentialChoice::kManyBody;
  // Whoever sizes networks means those of Chebyshev features, which are all there is to size there.
  if (AnyGiven({"hidden", "activation"}) || IsOnGpu() || !MayLearnForces(preset, loss)) {
    return PotentialChoice::kByFlags;
  }
  return PotentialChoice::kManyBodyIfForces;
}

void SetManyBodyEpochs(const std::optional<CheckpointSummary>& resumed, TrainerOptions* options) {
  int64_t epochs = kManyBodyEpochs;
  if (resumed.has_value()) {
    const auto recorded = resumed->task.find(kDefaultEpochs);
    if (recorded == resumed->task.end() || !absl::SimpleAtoi(recorded->second, &epochs)) return;
  }
  options->config[kDefaultEpochs] = absl::StrCat(epochs);
  if (AnyGiven({"max_epochs", "max_steps", "max_time", "min_epochs", "min_steps", "fast_dev_run"})) return;
  options->stop.max_epochs = epochs;
}

}  // namespace rutile
