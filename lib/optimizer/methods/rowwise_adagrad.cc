#include "lib/optimizer/methods/rowwise_adagrad.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/optimizer/optimizer_kernel.h"

namespace rutile {
namespace {

constexpr int64_t kLanes = 8;  // independent sums, so that the compiler uses vectors

template <typename T>
void StepRow(const AdagradStep& step, const T* g, int64_t n, T* sum, T* p) {
  const T scale = static_cast<T>(step.scale), l2 = static_cast<T>(step.l2);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const T x = scale * g[i + j] + l2 * p[i + j];
      lanes[j] += x * x;
    }
  }
  for (; i < n; ++i) {
    const T x = scale * g[i] + l2 * p[i];
    lanes[i % kLanes] += x * x;
  }
  T squares = 0;
  for (const T lane : lanes) squares += lane;
  *sum += squares / static_cast<T>(n);
  const T rate = static_cast<T>(step.step_size) / (std::sqrt(*sum) + static_cast<T>(step.epsilon));
  for (int64_t j = 0; j < n; ++j) p[j] -= rate * (scale * g[j] + l2 * p[j]);
}

// Returns the first row of each range in the sums, and behind them the number of rows.
std::vector<int64_t> FirstRows(const std::vector<ParameterRange>& ranges) {
  std::vector<int64_t> first = {0};
  for (const ParameterRange& range : ranges) {
    CHECK_EQ(range.size % range.row, 0);
    first.push_back(first.back() + range.size / range.row);
  }
  return first;
}

}  // namespace

RowwiseAdagrad::RowwiseAdagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options), ranges_(std::move(ranges)), first_(FirstRows(ranges_)), sums_(options, dtype, first_.back()) {}

void RowwiseAdagrad::BeginStep(double learning_rate) { now_ = sums_.NextStep(options_, learning_rate); }

int64_t RowwiseAdagrad::PartEnd(int64_t position) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), position,
                                      [](int64_t at, const ParameterRange& range) { return at < range.begin; });
  if (after == ranges_.begin()) return position;
  const ParameterRange& range = *std::prev(after);
  if (position >= range.begin + range.size) return position;
  return range.begin + (position - range.begin + range.row - 1) / range.row * range.row;
}

template <typename T>
void RowwiseAdagrad::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const int64_t end = begin + gradient.num_elements();
  CHECK(PartEnd(begin) == begin && PartEnd(end) == end) << "a part cuts a row: " << begin << " to " << end;
  const T* const g = gradient.values<T>().data();
  T *const p = parameters->mutable_values<T>().data(), *const sums = sums_.mutable_sum()->mutable_values<T>().data();
  // The ranges are ascending, and a part of one row must not look at all of them.
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                [](int64_t at, const ParameterRange& r) { return at < r.begin + r.size; });
  for (; range != ranges_.end() && range->begin < end; ++range) {
    AdagradStep step = now_;
    step.scale = scale;
    step.l2 = range->decays ? options_.weight_decay : 0;
    const int64_t first = std::max(begin, range->begin), last = std::min(end, range->begin + range->size);
    T* sum = sums + first_[range - ranges_.begin()] + (first - range->begin) / range->row;
    if (range->row == 1) {
      const auto n = static_cast<size_t>(last - first);
      AdagradUpdate(step, absl::MakeConstSpan(g + first - begin, n), absl::MakeSpan(sum, n),
                    absl::MakeSpan(p + first, n));
      continue;
    }
    for (int64_t at = first; at < last; at += range->row, ++sum) StepRow(step, g + at - begin, range->row, sum, p + at);
  }
}

void RowwiseAdagrad::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (sums_.sum().dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
  }
}

}  // namespace rutile
