#include "lib/train/gradient_reducer.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/train/tensor_values.h"

namespace rutile {
namespace {

// Values up to which an exchange costs more in delay than in bytes: docs/performance.md.
constexpr int64_t kSmall = 32768;

}  // namespace

absl::Status GradientReducer::ReduceTerms(TermSums* sums, absl::Span<Tensor> gradients) {
  if (alone()) return absl::OkStatus();
  int64_t size = 0;
  for (const Tensor& gradient : gradients) size += gradient.num_elements();
  reduced_ = size <= kSmall;
  if (!reduced_) return agreement_->Sum(sums, {});
  buffer_.clear();
  AppendValues(gradients, &buffer_);
  RETURN_IF_ERROR(agreement_->Sum(sums, absl::MakeSpan(buffer_)));
  SetValues(buffer_, gradients);
  return absl::OkStatus();
}

absl::StatusOr<bool> GradientReducer::ReduceCombined(Tensor* combined) {
  if (alone() || reduced_) return false;
  RETURN_IF_ERROR(agreement_->communicator()->Sum(combined));
  return true;
}

}  // namespace rutile
