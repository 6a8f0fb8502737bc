#include "lib/train/options/batch_limit.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/decimal.h"
#include "lib/base/share.h"

namespace rutile {

absl::StatusOr<BatchLimit> ParseBatchLimit(absl::string_view text) {
  BatchLimit limit;
  int64_t batches;
  double fraction;
  if (absl::SimpleAtoi(text, &batches) && batches >= 1) {
    limit.batches = batches;
    return limit;
  }
  const bool is_share = text.find_first_of(".e") != absl::string_view::npos;
  if (is_share && absl::SimpleAtod(text, &fraction) && fraction > 0 && fraction <= 1) {
    limit.fraction = fraction;
    return limit;
  }
  return absl::InvalidArgumentError(
      "expected a number of batches, as in 10, or a share of them with a dot, as in 0.1 or 1.0");
}

std::string BatchLimitText(const BatchLimit& limit) {
  if (limit.batches >= 0) return absl::StrCat(limit.batches);
  return limit.fraction == 1 ? "1.0" : ShortestDecimal(limit.fraction);
}

SettingValue BatchLimitNumber(const BatchLimit& limit) {
  if (limit.batches >= 0) return limit.batches;
  return limit.fraction;
}

absl::Status CheckBatchLimit(absl::string_view option, const BatchLimit& limit) {
  if (limit.batches >= 1) return absl::OkStatus();
  if (limit.batches == -1 && limit.fraction > 0 && limit.fraction <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", limit.batches == -1 ? limit.fraction : limit.batches,
                                                 ", expected 1 or more batches, or a share above 0 and up to 1"));
}

int64_t LimitBatches(const BatchLimit& limit, int64_t num_batches) {
  if (limit.batches >= 0) return std::min(limit.batches, num_batches);
  return std::min(num_batches, std::max<int64_t>(ShareOf(limit.fraction, num_batches), 1));
}

}  // namespace rutile
