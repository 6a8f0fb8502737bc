#include "lib/potential/data/config_weights.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace rutile {

absl::StatusOr<std::vector<std::pair<std::string, double>>> ParseConfigWeights(absl::string_view text) {
  std::vector<std::pair<std::string, double>> weights;
  for (const absl::string_view entry : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const size_t equals = entry.rfind('=');
    double weight = -1;
    if (equals == absl::string_view::npos || !absl::SimpleAtod(entry.substr(equals + 1), &weight) ||
        !std::isfinite(weight) || weight < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--config_weights: \"", entry, "\" is not a config type and its weight; expected as in bulk=1,surface*=0.5"));
    }
    weights.emplace_back(entry.substr(0, equals), weight);
  }
  return weights;
}

}  // namespace rutile
