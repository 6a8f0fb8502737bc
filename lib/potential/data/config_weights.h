// Weights of structures by config type, as --config_weights says them and runs record them.

#ifndef RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_
#define RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Returns the pairs of AtomicDataOptions::config_weights from "bulk=1,surface*=0.5". INVALID_ARGUMENT quoting the
// entry.
absl::StatusOr<std::vector<std::pair<std::string, double>>> ParseConfigWeights(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_
