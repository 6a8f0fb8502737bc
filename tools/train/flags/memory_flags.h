// The flags that trade memory for time.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_MEMORY_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_MEMORY_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

enum class ModelKind { kPotential, kEmbeddings };

// Returns messages for the user. Call it before large arrays are made. INVALID_ARGUMENT,
// with the reason, for a flag that cannot save memory here.
absl::StatusOr<std::vector<std::string>> MemoryMessagesFromFlags(ModelKind model, const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_MEMORY_FLAGS_H_
