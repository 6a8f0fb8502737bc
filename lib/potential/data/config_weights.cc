#include "lib/potential/data/config_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

absl::Status OtherKey(absl::string_view key, absl::string_view known, bool from_structures) {
  return absl::InvalidArgumentError(
      absl::StrCat("the data hold the values of ", known, ", not of ", key, "; ",
                   from_structures ? "give --config_key=" : "make the files again with --config_key=", key,
                   "; whole files are named by --validation_data and --test_data"));
}

absl::Status NothingFits(absl::string_view key, absl::string_view pattern, std::set<std::string> values) {
  values.erase("");
  const auto end = std::next(values.begin(), std::min<int64_t>(values.size(), 5));
  const std::string there =
      absl::StrCat("there are ", absl::StrJoin(values.begin(), end, ", "), end == values.end() ? "" : " and others");
  return absl::InvalidArgumentError(absl::StrCat(
      "no structure has a ", key, " that fits ", pattern, "; ",
      values.empty() ? "none has that key: whole files are named by --validation_data and --test_data" : there));
}

}  // namespace rutile
