// The flags of the moving average of parameters.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EMA_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EMA_FLAGS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "lib/optimizer/averages/ema.h"

namespace rutile {

// nullopt without --ema. INVALID_ARGUMENT for a value out of range, and for a flag that the others leave without
// effect.
absl::StatusOr<std::optional<EmaOptions>> EmaOptionsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EMA_FLAGS_H_
