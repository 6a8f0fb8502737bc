#include "tools/train/flags/potential_choice.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/flags/default_epochs.h"
#include "tools/train/flags/loss_flags.h"

namespace rutile {
namespace {

// As accurate as the best recipe on most data, and as long as a run of 1000 epochs on Chebyshev features
// (docs/performance-accuracy.md, "What the defaults give").
constexpr int64_t kManyBodyEpochs = 200;
template <std::size_t n>
bool AnyGiven(const char* const (&flags)[n]) {
  return std::any_of(std::begin(flags), std::end(flags), FlagGiven);
}

// A Chebyshev run records no potential: in the versions that wrote the first checkpoints there was no other.
bool WasManyBody(const CheckpointSummary& checkpoint) {
  const auto recorded = checkpoint.task.find("potential");
  return recorded != checkpoint.task.end() && recorded->second == "many-body";
}

}  // namespace

PotentialChoice PotentialChoiceFromFlags(Preset preset, const LossOptions& loss, bool on_gpu,
                                         const std::optional<Potential>& model,
                                         const std::optional<CheckpointSummary>& resumed) {
  if (PotentialFromFlag() != PotentialKind::kAuto || preset == Preset::kAenet || ChebyshevFlagsGiven()) {
    return PotentialChoice::kByFlags;
  }
  if (resumed.has_value()) return WasManyBody(*resumed) ? PotentialChoice::kManyBody : PotentialChoice::kByFlags;
  if (model.has_value()) {
    return model->descriptor.is_chebyshev() ? PotentialChoice::kByFlags : PotentialChoice::kManyBody;
  }
  if (MomentFlagsGiven() || AnyGiven({"channels", "messages", "vector_messages"})) return PotentialChoice::kManyBody;
  // Whoever sizes networks means those of Chebyshev features, which are all there is to size there.
  if (AnyGiven({"hidden", "activation"}) || on_gpu || !MayLearnForces(preset, loss)) {
    return PotentialChoice::kByFlags;
  }
  return PotentialChoice::kManyBodyIfForces;
}

std::string WhyChebyshev(Preset preset, bool on_gpu, bool from_structures, int num_species) {
  if (PotentialFromFlag() != PotentialKind::kAuto || preset == Preset::kAenet || ChebyshevFlagsGiven()) return "";
  std::string why;
  if (!from_structures) {
    why = "the inputs are features or neighbors; from structures";
  } else if (FlagGiven("hidden")) {
    why = "--hidden is given;";
  } else if (FlagGiven("activation")) {
    why = "--activation is given;";
  } else if (on_gpu) {
    why = "it trains on a GPU;";
  } else if (num_species > kMostOpenSpecies) {
    why = absl::StrCat("there are ", num_species, " elements;");
  } else {
    return "";
  }
  return absl::StrCat("learns a potential on Chebyshev features, as ", why,
                      " --potential=many-body learns the more accurate kind");
}

void SetManyBodyEpochs(const std::optional<CheckpointSummary>& resumed, TrainerOptions* options) {
  SetDefaultEpochs(kManyBodyEpochs, resumed, options);
}

}  // namespace rutile
