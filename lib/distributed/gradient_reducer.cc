#include "lib/distributed/gradient_reducer.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/tensor_values.h"
#include "lib/task/gradients/gradient_stream.h"

namespace rutile {
namespace {

// Up to this many values, the latency of an exchange costs more than its bytes (docs/performance-potentials.md,
// "Several processes").
constexpr int64_t kSmall = 32768;

}  // namespace

GradientReducer::GradientReducer(Agreement* agreement, const Task& task)
    : agreement_(agreement), num_terms_(task.terms().size()) {
  const int64_t size = task.num_parameters();
  if (alone() || static_cast<int64_t>(num_terms_) * size <= kSmall) return;
  const GradientStream* const stream = task.stream();
  buckets_.emplace(agreement_->communicator(), task.parameter_dtype(), size,
                   stream != nullptr ? stream->EarlyGradients() : std::vector<GradientRange>());
}

void GradientReducer::SetFrozen(const std::vector<ParameterSlice>& all, const std::vector<bool>& slices) {
  if (!buckets_.has_value()) return;
  std::vector<GradientRange> frozen;
  for (size_t s = 0; s < slices.size(); ++s) {
    if (slices[s]) frozen.push_back({all[s].offset, all[s].offset + all[s].num_elements()});
  }
  buckets_->SetFrozen(frozen);
}

GradientObserver* GradientReducer::Watch(absl::Span<Tensor> gradients) {
  if (!buckets_.has_value() || num_terms_ > 1) return nullptr;
  buckets_->Begin(gradients[0]);
  return &*buckets_;
}

absl::Status GradientReducer::ReduceTerms(TermSums* sums, absl::Span<Tensor> gradients) {
  if (alone()) return absl::OkStatus();
  if (agreement_->devices() != nullptr) return agreement_->Sum(sums, {});
  if (buckets_.has_value()) {
    if (num_terms_ == 1) buckets_->StartRest(gradients[0]);
    RETURN_IF_ERROR(agreement_->Sum(sums, {}));
    return num_terms_ == 1 ? buckets_->Complete(&gradients[0]) : absl::OkStatus();
  }
  buffer_.clear();
  AppendValues(gradients, &buffer_);
  RETURN_IF_ERROR(agreement_->Sum(sums, absl::MakeSpan(buffer_)));
  SetValues(buffer_, gradients);
  return absl::OkStatus();
}

absl::StatusOr<bool> GradientReducer::ReduceCombined(Tensor* combined) {
  if (!buckets_.has_value() || num_terms_ == 1 || agreement_->devices() != nullptr) return false;
  buckets_->StartRest(*combined);
  RETURN_IF_ERROR(buckets_->Complete(combined));
  return true;
}

}  // namespace rutile
