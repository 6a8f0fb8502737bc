// Weights of structures by config type, as --config_weights says them and runs record them.

#ifndef RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_
#define RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Returns the pairs of AtomicDataOptions::config_weights from "bulk=1,surface*=0.5". INVALID_ARGUMENT quoting the
// entry.
absl::StatusOr<std::vector<std::pair<std::string, double>>> ParseConfigWeights(absl::string_view text);

// Returns an INVALID_ARGUMENT for a glob over the values of `key` where the data have those of `known`.
// from_structures: the data are text, for which --config_key can be given; else it is the file that must be made again.
absl::Status OtherKey(absl::string_view key, absl::string_view known, bool from_structures);

// Returns an INVALID_ARGUMENT for a glob that no structure fits, with some of the values that there are. key: the
// frames' key whose value is a structure's config type. values: those of the structures; "" for one without the key.
absl::Status NothingFits(absl::string_view key, absl::string_view pattern, std::set<std::string> values);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_CONFIG_WEIGHTS_H_
