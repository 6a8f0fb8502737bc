#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kge/training/scores/distance_scores.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cstdint>

#include "lib/kge/training/scores/distance_scores.h"
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Queries whose vectors and gradients are in registers.
constexpr int kRows = 4;

// Returns slope times the derivative of a distance's term in x, the difference of v and a row.
template <ScoreForm kForm, class D, class V>
HWY_INLINE V Term(D d, V slope, V x) {
  if (kForm == ScoreForm::kL2) return hn::Mul(slope, x);  // the slope has been divided by the distance
  const auto signed_slope = hn::Xor(slope, hn::And(x, hn::SignBit(d)));
  return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), signed_slope);
}

// Adds the gradients of R queries and all entities in the numbers [k, k + lanes) of their rows; for kModuli in these
// and in those d / 2 further on.
template <ScoreForm kForm, int R, typename T, class Part>
HWY_INLINE void AddPart(const DistanceBlock<T>& b, int64_t q, const T* slopes, int64_t stride, const Part& part,
                        int64_t k, T* d_v, T* d_rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr bool kComplex = kForm == ScoreForm::kModuli;
  const int64_t other = kComplex ? k + b.d / 2 : k;
  V v[R], w[R], sum[R], sum_other[R];
  for (int r = 0; r < R; ++r) {
    v[r] = w[r] = part.Load(b.v + (q + r) * b.d + k);
    if (kComplex) w[r] = part.Load(b.v + (q + r) * b.d + other);
    sum[r] = sum_other[r] = hn::Zero(d);
  }
  for (int64_t e = 0; e < b.entities; ++e) {
    const V x = part.Load(b.rows + e * b.d + k);
    V y = x, of_row = hn::Zero(d), of_other = hn::Zero(d);
    if (kComplex) y = part.Load(b.rows + e * b.d + other);
    for (int r = 0; r < R; ++r) {
      const V slope = hn::Set(d, slopes[r * stride + e]), re = hn::Sub(v[r], x);
      if (kComplex) {
        const V im = hn::Sub(w[r], y), square = hn::MulAdd(im, im, hn::Mul(re, re));
        const V scale = hn::IfThenZeroElse(hn::Eq(square, hn::Zero(d)), hn::Div(slope, hn::Sqrt(square)));
        sum[r] = hn::NegMulAdd(scale, re, sum[r]);
        sum_other[r] = hn::NegMulAdd(scale, im, sum_other[r]);
        of_row = hn::MulAdd(scale, re, of_row);
        of_other = hn::MulAdd(scale, im, of_other);
      } else {
        const V term = Term<kForm>(d, slope, re);
        sum[r] = hn::Sub(sum[r], term);
        of_row = hn::Add(of_row, term);
      }
    }
    T* const d_row = d_rows + e * b.d;
    part.Store(hn::Add(part.Load(d_row + k), of_row), d_row + k);
    if (kComplex) part.Store(hn::Add(part.Load(d_row + other), of_other), d_row + other);
  }
  for (int r = 0; r < R; ++r) {
    T* const to = d_v + (q + r) * b.d;
    part.Store(hn::Add(part.Load(to + k), sum[r]), to + k);
    if (kComplex) part.Store(hn::Add(part.Load(to + other), sum_other[r]), to + other);
  }
}

template <ScoreForm kForm, typename T>
void Add(const DistanceBlock<T>& b, const T* slopes, int64_t stride, int64_t begin, int64_t end, T* d_v, T* d_rows) {
  ForVectors<T>(begin, end, [&](const auto& part, int64_t k) {
    int64_t q = 0;
    for (; q + kRows <= b.queries; q += kRows) {
      AddPart<kForm, kRows>(b, q, slopes + q * stride, stride, part, k, d_v, d_rows);
    }
    for (; q < b.queries; ++q) AddPart<kForm, 1>(b, q, slopes + q * stride, stride, part, k, d_v, d_rows);
  });
}

template <typename T>
void AddForm(ScoreForm form, const DistanceBlock<T>& b, const T* slopes, int64_t stride, int64_t begin, int64_t end,
             T* d_v, T* d_rows) {
  switch (form) {
    case ScoreForm::kDot:
      return;
    case ScoreForm::kL1:
      return Add<ScoreForm::kL1>(b, slopes, stride, begin, end, d_v, d_rows);
    case ScoreForm::kL2:
      return Add<ScoreForm::kL2>(b, slopes, stride, begin, end, d_v, d_rows);
    case ScoreForm::kModuli:
      return Add<ScoreForm::kModuli>(b, slopes, stride, begin, end, d_v, d_rows);
  }
}

void AddF32(ScoreForm form, const DistanceBlock<float>& b, const float* slopes, int64_t stride, int64_t begin,
            int64_t end, float* d_v, float* d_rows) {
  AddForm(form, b, slopes, stride, begin, end, d_v, d_rows);
}
void AddF64(ScoreForm form, const DistanceBlock<double>& b, const double* slopes, int64_t stride, int64_t begin,
            int64_t end, double* d_v, double* d_rows) {
  AddForm(form, b, slopes, stride, begin, end, d_v, d_rows);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/kge/layers/workspace.h"
#include "lib/ranking/scores/distance_kernel.h"
#include "lib/ranking/scores/score_kernel.h"

namespace rutile {
namespace {

HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);

// Queries that a thread scores, and numbers of rows whose gradients it adds, at a time: several cache lines.
constexpr int64_t kPiece = 64, kNumbers = 32;

void AddPiece(ScoreForm form, const DistanceBlock<float>& b, const float* slopes, int64_t stride, int64_t begin,
              int64_t end, float* d_v, float* d_rows) {
  HWY_DYNAMIC_DISPATCH(AddF32)(form, b, slopes, stride, begin, end, d_v, d_rows);
}
void AddPiece(ScoreForm form, const DistanceBlock<double>& b, const double* slopes, int64_t stride, int64_t begin,
              int64_t end, double* d_v, double* d_rows) {
  HWY_DYNAMIC_DISPATCH(AddF64)(form, b, slopes, stride, begin, end, d_v, d_rows);
}

}  // namespace

ScoreForm ScoreFormOf(const KgeOptions& options) {
  if (!IsDistanceModel(options.model)) return ScoreForm::kDot;
  // The norm of all real and imaginary parts is that of the moduli.
  if (options.distance_norm == 2) return ScoreForm::kL2;
  return options.model == KgeModel::kRotatE ? ScoreForm::kModuli : ScoreForm::kL1;
}

double QueriesToCheck(const KgeShape& shape, double most) {
  constexpr double kDifferences = 1 << 25;  // of all queries: 128 MB in fp32
  if (ScoreFormOf(shape.options) != ScoreForm::kModuli) return most;
  const double of_query = static_cast<double>(shape.num_entities) * static_cast<double>(shape.dim());
  return std::clamp(std::floor(kDifferences / of_query), 1.0, std::max(most, 1.0));
}

template <typename T>
int64_t DistanceScores<T>::Stride(int64_t entities) {
  return RoundUp(entities, static_cast<int64_t>(PanelWidth<T>()));
}

template <typename T>
void DistanceScores<T>::Scores(const DistanceBlock<T>& block, T* scores, int64_t stride) {
  const int64_t padded = Stride(block.entities), num_panels = padded / PanelWidth<T>();
  CHECK_LE(padded, stride);
  T* const panels = Take<T>(&panels_, padded * block.d);
  T* const no_bias = Take<T>(&no_bias_, padded);
  std::fill_n(no_bias, padded, T(0));
  PackPanels(block.rows, block.entities, block.d, panels);
  T* const distances = form_ == ScoreForm::kL2 ? Take<T>(&distances_, block.queries * block.entities) : nullptr;
  ForPieces(pool_, block.queries, kPiece, [&](int64_t begin, int64_t end, int) {
    DistanceTile(form_, block.v + begin * block.d, end - begin, block.d, panels, num_panels, no_bias,
                 scores + begin * stride, stride);
    for (int64_t q = begin; distances != nullptr && q < end; ++q) {
      std::copy_n(scores + q * stride, block.entities, distances + q * block.entities);
    }
  });
}

template <typename T>
void DistanceScores<T>::AddGradients(const DistanceBlock<T>& block, T* slopes, int64_t stride, T* d_v, T* d_rows) {
  if (form_ == ScoreForm::kL2) {
    const T* const distances = distances_.template values<T>().data();
    ForPieces(pool_, block.queries, kPiece, [&](int64_t begin, int64_t end, int) {
      for (int64_t q = begin; q < end; ++q) {
        const T* const score = distances + q * block.entities;
        T* const slope = slopes + q * stride;
        for (int64_t e = 0; e < block.entities; ++e) slope[e] = score[e] == 0 ? T(0) : slope[e] / -score[e];
      }
    });
  }
  // Threads take numbers of all rows, so that each sum is in the same order whatever their number.
  const int64_t numbers = form_ == ScoreForm::kModuli ? block.d / 2 : block.d;
  ForPieces(pool_, numbers, kNumbers,
            [&](int64_t begin, int64_t end, int) { AddPiece(form_, block, slopes, stride, begin, end, d_v, d_rows); });
}

template class DistanceScores<float>;
template class DistanceScores<double>;

}  // namespace rutile
#endif  // HWY_ONCE
