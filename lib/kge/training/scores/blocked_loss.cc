#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kge/training/scores/blocked_loss.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/kge/training/scores/blocked_loss.h"
#include "lib/machine/simd.h"
#include "lib/matrix/exp-inl.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of vectors between two additions to fp64 sums. The product of so many numbers from 1 to 2, and then of the
// product's lanes, is still finite.
constexpr int64_t kVectorsOfSums = 32;

template <typename T>
struct RowOf {
  RowOf(const ScoreBlock<T>& block, int64_t q)
      : x(block.scores + q * block.stride), bias(block.bias), bias_gradient(block.bias_gradient), n(block.n) {}

  T* x;
  const T* bias;
  T* bias_gradient;
  int64_t n;
};

template <typename T, class Part>
HWY_INLINE VecOf<T> ScoreOf(const RowOf<T>& row, const Part& part, int64_t i) {
  const auto x = part.Load(row.x + i);
  return row.bias == nullptr ? x : hn::Add(x, part.Load(row.bias + i));
}

template <typename T, class Part>
HWY_INLINE void SetGradient(const RowOf<T>& row, VecOf<T> gradient, const Part& part, int64_t i) {
  part.Store(gradient, row.x + i);
  if (row.bias_gradient != nullptr) {
    part.Store(hn::Add(gradient, part.Load(row.bias_gradient + i)), row.bias_gradient + i);
  }
}

// Returns the sum of softplus(x) - base x; x becomes scale (sigmoid(x) - base).
//
// With e = e^-|x|, softplus(x) = max(x, 0) + log(1 + e), and a sum of logarithms is that of a product. What is lost by
// rounding 1 + e (all of e, where it is small) is summed separately.
template <typename T>
double CrossEntropyRow(const RowOf<T>& row, T base_of_all, T scale_of_all) {
  const hn::ScalableTag<T> d;
  const int64_t step = kVectorsOfSums * static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d), one = hn::Set(d, T(1));
  const auto base = hn::Set(d, base_of_all), scale = hn::Set(d, scale_of_all);
  const auto scaled_base = hn::Mul(scale, base);
  double loss = 0;
  for (int64_t begin = 0; begin < row.n; begin += step) {
    auto product = one, lost = zero, linear = zero;
    ForVectors<T>(begin, std::min(begin + step, row.n), [&](const auto& part, int64_t i) {
      const auto x = ScoreOf(row, part, i);
      const auto e = ExpOfNegative(d, hn::Neg(hn::Abs(x)));
      const auto sum = hn::Add(one, e);
      lost = hn::Add(lost, part.Or(hn::Sub(e, hn::Sub(sum, one)), zero));
      product = hn::Mul(product, part.Or(sum, one));
      linear = hn::Add(linear, part.Or(hn::NegMulAdd(base, x, hn::Max(zero, x)), zero));
      const auto sigmoid = hn::Div(hn::IfThenElse(hn::Lt(x, zero), e, one), sum);
      SetGradient(row, hn::MulSub(scale, sigmoid, scaled_base), part, i);
    });
    HWY_ALIGN T products[MaxLanes<T>()];
    hn::Store(product, d, products);
    double of_lanes = 1;
    for (int k = 0; k < static_cast<int>(hn::Lanes(d)); ++k) of_lanes *= static_cast<double>(products[k]);
    loss += static_cast<double>(SumOf<T>(linear)) + (std::log(of_lanes) + static_cast<double>(SumOf<T>(lost)));
  }
  return loss;
}

template <typename T>
T MaxOfRow(const RowOf<T>& row) {
  const hn::ScalableTag<T> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto max = lowest;
  ForVectors<T>(0, row.n,
                [&](const auto& part, int64_t i) { max = hn::Max(max, part.Or(ScoreOf(row, part, i), lowest)); });
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// Computes the sums of e^(x - max) and of x.
template <typename T>
void ExponentialsOfRow(const RowOf<T>& row, T max_of_all, double* exponentials, double* scores) {
  const hn::ScalableTag<T> d;
  const int64_t step = kVectorsOfSums * static_cast<int64_t>(hn::Lanes(d));
  const auto max = hn::Set(d, max_of_all), zero = hn::Zero(d);
  for (int64_t begin = 0; begin < row.n; begin += step) {
    auto sum = zero, linear = zero;
    ForVectors<T>(begin, std::min(begin + step, row.n), [&](const auto& part, int64_t i) {
      const auto x = ScoreOf(row, part, i);
      sum = hn::Add(sum, part.Or(ExpOfNegative(d, hn::Sub(x, max)), zero));
      linear = hn::Add(linear, part.Or(x, zero));
    });
    *exponentials += static_cast<double>(SumOf<T>(sum));
    *scores += static_cast<double>(SumOf<T>(linear));
  }
}

// Replaces x by e^(x - max) scale - base.
template <typename T>
void SoftmaxRow(const RowOf<T>& row, T max_of_all, T scale_of_all, T base_of_all) {
  const hn::ScalableTag<T> d;
  const auto max = hn::Set(d, max_of_all), scale = hn::Set(d, scale_of_all), base = hn::Set(d, base_of_all);
  ForVectors<T>(0, row.n, [&](const auto& part, int64_t i) {
    const auto e = ExpOfNegative(d, hn::Sub(ScoreOf(row, part, i), max));
    SetGradient(row, hn::MulSub(e, scale, base), part, i);
  });
}

template <typename T>
void CrossEntropyRows(const BlockLabels& labels, double scale, const ScoreBlock<T>& block, double* losses) {
  for (int64_t q = 0; q < labels.size(); ++q) {
    if (labels.IsFalse(q)) continue;
    const double of_query = scale * labels.Weight(q);
    losses[q] += of_query * CrossEntropyRow<T>({block, q}, static_cast<T>(labels.base[q]), static_cast<T>(of_query));
  }
}

template <typename T>
void SumRows(const BlockLabels& labels, const ScoreBlock<T>& block, SoftmaxState* states) {
  for (int64_t q = 0; q < labels.size(); ++q) {
    const RowOf<T> row(block, q);
    SoftmaxState* state = &states[q];
    const double max = std::max(state->max, static_cast<double>(MaxOfRow(row)));
    if (max != state->max) state->sum *= std::exp(state->max - max);
    state->max = max;
    double scores = 0;
    ExponentialsOfRow(row, static_cast<T>(max), &state->sum, &scores);
    state->label += labels.base[q] * scores;
  }
}

template <typename T>
void SoftmaxRows(const BlockLabels& labels, const SoftmaxState* states, const ScoreBlock<T>& block) {
  for (int64_t q = 0; q < labels.size(); ++q) {
    SoftmaxRow<T>({block, q}, static_cast<T>(states[q].max), static_cast<T>(1 / states[q].sum),
                  static_cast<T>(labels.base[q]));
  }
}

void CrossEntropyF32(const BlockLabels& labels, double scale, const ScoreBlock<float>& block, double* losses) {
  CrossEntropyRows(labels, scale, block, losses);
}
void CrossEntropyF64(const BlockLabels& labels, double scale, const ScoreBlock<double>& block, double* losses) {
  CrossEntropyRows(labels, scale, block, losses);
}
void SumF32(const BlockLabels& labels, const ScoreBlock<float>& block, SoftmaxState* states) {
  SumRows(labels, block, states);
}
void SumF64(const BlockLabels& labels, const ScoreBlock<double>& block, SoftmaxState* states) {
  SumRows(labels, block, states);
}
void SoftmaxF32(const BlockLabels& labels, const SoftmaxState* states, const ScoreBlock<float>& block) {
  SoftmaxRows(labels, states, block);
}
void SoftmaxF64(const BlockLabels& labels, const SoftmaxState* states, const ScoreBlock<double>& block) {
  SoftmaxRows(labels, states, block);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "lib/base/logging.h"

namespace rutile {
namespace {

HWY_EXPORT(CrossEntropyF32);
HWY_EXPORT(CrossEntropyF64);
HWY_EXPORT(SumF32);
HWY_EXPORT(SumF64);
HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(SoftmaxF64);

template <typename T>
void Check(const BlockLabels& labels, const ScoreBlock<T>& block, size_t size) {
  CHECK(labels.extra.size() == labels.base.size() && labels.positive_offset.size() == labels.base.size() + 1)
      << labels.base.size() << " queries";
  CHECK_EQ(size, labels.base.size());
  CHECK_LE(block.n, block.stride);
}

// Calls body(query, column in the block, index of `positive`) for each true tail in it.
template <typename T, class Body>
void ForPositives(const BlockLabels& labels, const ScoreBlock<T>& block, const Body& body) {
  const int32_t* const all = labels.positive.data();
  for (int64_t q = 0; q < labels.size(); ++q) {
    const int32_t* const end = all + labels.positive_offset[q + 1];
    const int32_t* tail = std::lower_bound(all + labels.positive_offset[q], end, block.first);
    for (; tail != end && *tail < block.first + block.n; ++tail) body(q, *tail - block.first, tail - all);
  }
}

template <typename T>
T ScoreAt(const ScoreBlock<T>& block, int64_t query, int64_t column) {
  const T x = block.scores[query * block.stride + column];
  return block.bias == nullptr ? x : x + block.bias[column];
}

// Subtracts extra from d loss / d score on true tails.
template <typename T>
void SubtractPositives(const BlockLabels& labels, const ScoreBlock<T>& block) {
  ForPositives(labels, block, [&](int64_t q, int64_t column, int64_t k) {
    const T extra = static_cast<T>(labels.TailWeight(k) * labels.extra[q]);
    block.scores[q * block.stride + column] -= extra;
    if (block.bias_gradient != nullptr) block.bias_gradient[column] -= extra;
  });
}

void CrossEntropy(const BlockLabels& labels, double scale, const ScoreBlock<float>& block, double* losses) {
  HWY_DYNAMIC_DISPATCH(CrossEntropyF32)(labels, scale, block, losses);
}
void CrossEntropy(const BlockLabels& labels, double scale, const ScoreBlock<double>& block, double* losses) {
  HWY_DYNAMIC_DISPATCH(CrossEntropyF64)(labels, scale, block, losses);
}
void Sum(const BlockLabels& labels, const ScoreBlock<float>& block, SoftmaxState* states) {
  HWY_DYNAMIC_DISPATCH(SumF32)(labels, block, states);
}
void Sum(const BlockLabels& labels, const ScoreBlock<double>& block, SoftmaxState* states) {
  HWY_DYNAMIC_DISPATCH(SumF64)(labels, block, states);
}
void Softmax(const BlockLabels& labels, const SoftmaxState* states, const ScoreBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(SoftmaxF32)(labels, states, block);
}
void Softmax(const BlockLabels& labels, const SoftmaxState* states, const ScoreBlock<double>& block) {
  HWY_DYNAMIC_DISPATCH(SoftmaxF64)(labels, states, block);
}

// A score whose exponential is 0 beside any other, while sums of it are finite.
constexpr float kNoScore = -1e30F;

// Makes the exponentials of the entities of false queries 0.
template <typename T>
void LeaveOutFalseAnswers(const BlockLabels& labels, const ScoreBlock<T>& block) {
  if (labels.is_false.empty()) return;
  ForPositives(labels, block, [&](int64_t q, int64_t column, int64_t k) {
    if (labels.IsFalse(q)) block.scores[q * block.stride + column] = kNoScore;
  });
}

// A score that is listed, before its gradient takes its place.
template <typename T>
struct ListedScore {
  int64_t query, column, k;
  T score;
};

// Adds the losses of false queries, and what the terms of true tails have more than those of other entities.
template <typename T>
std::vector<ListedScore<T>> AddListedLosses(const BlockLabels& labels, double scale, const ScoreBlock<T>& block,
                                            absl::Span<double> losses) {
  std::vector<ListedScore<T>> listed;
  ForPositives(labels, block, [&](int64_t q, int64_t column, int64_t k) {
    const T score = ScoreAt(block, q, column);
    const double x = static_cast<double>(score), of_query = scale * labels.Weight(q), weight = labels.TailWeight(k);
    if (!labels.IsFalse(q)) losses[q] -= of_query * weight * labels.extra[q] * x;
    if (!labels.IsFalse(q) && weight == 1) return;
    const double softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    losses[q] += of_query * (labels.IsFalse(q) ? weight * softplus : (weight - 1) * (softplus - labels.base[q] * x));
    listed.push_back({q, column, k, score});
  });
  return listed;
}

// Corrects the gradients of what AddListedLosses returned, and makes the other gradients of false queries 0.
template <typename T>
void SetListedGradients(const BlockLabels& labels, double scale, const ScoreBlock<T>& block,
                        const std::vector<ListedScore<T>>& listed) {
  for (int64_t q = 0; q < labels.size(); ++q) {
    if (labels.IsFalse(q)) std::fill_n(block.scores + q * block.stride, block.n, T(0));
  }
  for (const auto& [q, column, k, score] : listed) {
    const double e = std::exp(-std::abs(static_cast<double>(score)));
    const double sigmoid = (score < 0 ? e : 1) / (1 + e);
    const double label = labels.IsFalse(q) ? 0 : labels.base[q] + labels.extra[q];
    T& gradient = block.scores[q * block.stride + column];
    const T before = gradient;
    gradient = static_cast<T>(scale * labels.Weight(q) * labels.TailWeight(k) * (sigmoid - label));
    if (block.bias_gradient != nullptr) block.bias_gradient[column] += gradient - before;
  }
}

// Subtracts what extra makes of the gradients on true tails whose terms have a weight of 1.
template <typename T>
void SubtractPlainPositives(const BlockLabels& labels, double scale, const ScoreBlock<T>& block) {
  ForPositives(labels, block, [&](int64_t q, int64_t column, int64_t k) {
    if (labels.IsFalse(q) || labels.TailWeight(k) != 1) return;
    const T extra = static_cast<T>(scale * labels.Weight(q) * labels.extra[q]);
    block.scores[q * block.stride + column] -= extra;
    if (block.bias_gradient != nullptr) block.bias_gradient[column] -= extra;
  });
}

}  // namespace

FalseAnswer::FalseAnswer(double others_less_answer) {
  const double x = -others_less_answer, e = std::exp(-std::abs(x));
  loss = std::max(x, 0.0) + std::log1p(e);
  slope = -(x < 0 ? e : 1) / (1 + e);
}

double SoftmaxState::Loss() const { return max + std::log(sum) - label; }

void SoftmaxState::Join(const SoftmaxState& other) {
  if (other.sum == 0) return;  // no scores
  const double both = std::max(max, other.max);
  sum = sum * std::exp(max - both) + other.sum * std::exp(other.max - both);
  max = both;
  label += other.label;
}

template <typename T>
void BinaryCrossEntropy(const BlockLabels& labels, double scale, const ScoreBlock<T>& block,
                        absl::Span<double> losses) {
  Check(labels, block, losses.size());
  const std::vector<ListedScore<T>> listed = AddListedLosses(labels, scale, block, losses);
  CrossEntropy(labels, scale, block, losses.data());
  SubtractPlainPositives(labels, scale, block);
  SetListedGradients(labels, scale, block, listed);
}

template <typename T>
void SoftmaxSums(const BlockLabels& labels, const ScoreBlock<T>& block, absl::Span<SoftmaxState> states) {
  Check(labels, block, states.size());
  ForPositives(labels, block, [&](int64_t q, int64_t column, int64_t k) {
    states[q].label += labels.TailWeight(k) * labels.extra[q] * static_cast<double>(ScoreAt(block, q, column));
  });
  LeaveOutFalseAnswers(labels, block);
  Sum(labels, block, states.data());
}

template <typename T>
void SoftmaxGradients(const BlockLabels& labels, absl::Span<const SoftmaxState> states, const ScoreBlock<T>& block) {
  Check(labels, block, states.size());
  LeaveOutFalseAnswers(labels, block);
  Softmax(labels, states.data(), block);
  SubtractPositives(labels, block);
}

template void BinaryCrossEntropy(const BlockLabels&, double, const ScoreBlock<float>&, absl::Span<double>);
template void BinaryCrossEntropy(const BlockLabels&, double, const ScoreBlock<double>&, absl::Span<double>);
template void SoftmaxSums(const BlockLabels&, const ScoreBlock<float>&, absl::Span<SoftmaxState>);
template void SoftmaxSums(const BlockLabels&, const ScoreBlock<double>&, absl::Span<SoftmaxState>);
template void SoftmaxGradients(const BlockLabels&, absl::Span<const SoftmaxState>, const ScoreBlock<float>&);
template void SoftmaxGradients(const BlockLabels&, absl::Span<const SoftmaxState>, const ScoreBlock<double>&);

}  // namespace rutile
#endif  // HWY_ONCE
