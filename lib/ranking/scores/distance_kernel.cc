#include "lib/ranking/scores/distance_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ranking/scores/distance_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Queries and vectors of entities whose sums are in registers.
constexpr int kVecs = 2;
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;

template <ScoreForm kForm, class D, class V>
HWY_INLINE V AddTerm(D d, V difference, V imaginary, V sum) {
  if (kForm == ScoreForm::kL1) return hn::Add(sum, hn::Abs(difference));
  if (kForm == ScoreForm::kL2) return hn::MulAdd(difference, difference, sum);
  return hn::Add(sum, hn::Sqrt(hn::MulAdd(imaginary, imaginary, hn::Mul(difference, difference))));
}

template <ScoreForm kForm, class V>
HWY_INLINE V Finished(V sum, V bias) {
  return hn::Sub(bias, kForm == ScoreForm::kL2 ? hn::Sqrt(sum) : sum);
}

template <ScoreForm kForm, int R, typename T>
HWY_INLINE void Panel(const T* HWY_RESTRICT hidden, int64_t dim, const T* HWY_RESTRICT panel,
                      const T* HWY_RESTRICT bias, T* HWY_RESTRICT scores, int64_t stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr bool kComplex = kForm == ScoreForm::kModuli;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), width = kVecs * lanes;
  const int64_t terms = kComplex ? dim / 2 : dim;
  V sum[R][kVecs];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < terms; ++k) {
    V x[kVecs], y[kVecs];
    for (int v = 0; v < kVecs; ++v) {
      x[v] = y[v] = hn::LoadU(d, panel + k * width + v * lanes);
      if (kComplex) y[v] = hn::LoadU(d, panel + (terms + k) * width + v * lanes);
    }
    for (int r = 0; r < R; ++r) {
      const auto h = hn::Set(d, hidden[r * dim + k]);
      const auto i = kComplex ? hn::Set(d, hidden[r * dim + terms + k]) : h;
      for (int v = 0; v < kVecs; ++v) {
        const auto difference = hn::Sub(h, x[v]);
        sum[r][v] = AddTerm<kForm>(d, difference, kComplex ? hn::Sub(i, y[v]) : difference, sum[r][v]);
      }
    }
  }
  for (int v = 0; v < kVecs; ++v) {
    const auto b = hn::LoadU(d, bias + v * lanes);
    for (int r = 0; r < R; ++r) {
      hn::StoreU(Finished<kForm>(sum[r][v], b), d, scores + r * stride + v * lanes);
    }
  }
}

template <ScoreForm kForm, int R, typename T>
HWY_INLINE void Panels(const T* hidden, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
                       int64_t stride) {
  const int64_t width = kVecs * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t p = 0; p < num_panels; ++p) {
    Panel<kForm, R, T>(hidden, dim, panels + p * width * dim, bias + p * width, scores + p * width, stride);
  }
}

template <ScoreForm kForm, typename T>
void Tile(const T* hidden, int64_t queries, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
          int64_t stride) {
  int64_t q = 0;
  for (; q + kRows <= queries; q += kRows) {
    Panels<kForm, kRows, T>(hidden + q * dim, dim, panels, num_panels, bias, scores + q * stride, stride);
  }
  for (; q < queries; ++q) {
    Panels<kForm, 1, T>(hidden + q * dim, dim, panels, num_panels, bias, scores + q * stride, stride);
  }
}

// Uses vectors of one lane, so that a multiply-add is fused exactly if that of the tiles is.
template <ScoreForm kForm, typename T>
T One(const T* hidden, const T* entity, int64_t dim, T bias) {
  const hn::CappedTag<T, 1> d;
  const int64_t terms = kForm == ScoreForm::kModuli ? dim / 2 : dim;
  auto sum = hn::Zero(d);
  for (int64_t k = 0; k < terms; ++k) {
    const int64_t i = kForm == ScoreForm::kModuli ? terms + k : k;
    sum = AddTerm<kForm>(d, hn::Sub(hn::Set(d, hidden[k]), hn::Set(d, entity[k])),
                         hn::Sub(hn::Set(d, hidden[i]), hn::Set(d, entity[i])), sum);
  }
  return hn::GetLane(Finished<kForm>(sum, hn::Set(d, bias)));
}

template <typename T>
void TileOf(ScoreForm form, const T* hidden, int64_t queries, int64_t dim, const T* panels, int64_t num_panels,
            const T* bias, T* scores, int64_t stride) {
  switch (form) {
    case ScoreForm::kDot:
      return;
    case ScoreForm::kL1:
      return Tile<ScoreForm::kL1>(hidden, queries, dim, panels, num_panels, bias, scores, stride);
    case ScoreForm::kL2:
      return Tile<ScoreForm::kL2>(hidden, queries, dim, panels, num_panels, bias, scores, stride);
    case ScoreForm::kModuli:
      return Tile<ScoreForm::kModuli>(hidden, queries, dim, panels, num_panels, bias, scores, stride);
  }
}

template <typename T>
T OneOf(ScoreForm form, const T* hidden, const T* entity, int64_t dim, T bias) {
  if (form == ScoreForm::kL1) return One<ScoreForm::kL1>(hidden, entity, dim, bias);
  if (form == ScoreForm::kL2) return One<ScoreForm::kL2>(hidden, entity, dim, bias);
  return One<ScoreForm::kModuli>(hidden, entity, dim, bias);
}

void TileF32(ScoreForm form, const float* hidden, int64_t queries, int64_t dim, const float* panels, int64_t num_panels,
             const float* bias, float* scores, int64_t stride) {
  TileOf(form, hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
void TileF64(ScoreForm form, const double* hidden, int64_t queries, int64_t dim, const double* panels,
             int64_t num_panels, const double* bias, double* scores, int64_t stride) {
  TileOf(form, hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
float OneF32(ScoreForm form, const float* hidden, const float* entity, int64_t dim, float bias) {
  return OneOf(form, hidden, entity, dim, bias);
}
double OneF64(ScoreForm form, const double* hidden, const double* entity, int64_t dim, double bias) {
  return OneOf(form, hidden, entity, dim, bias);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "lib/base/logging.h"

namespace rutile {

HWY_EXPORT(TileF32);
HWY_EXPORT(TileF64);
HWY_EXPORT(OneF32);
HWY_EXPORT(OneF64);

template <>
void DistanceTile<float>(ScoreForm form, const float* hidden, int64_t queries, int64_t dim, const float* panels,
                         int64_t num_panels, const float* bias, float* scores, int64_t stride) {
  CHECK(IsDistance(form)) << "a product";
  HWY_DYNAMIC_DISPATCH(TileF32)(form, hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
template <>
void DistanceTile<double>(ScoreForm form, const double* hidden, int64_t queries, int64_t dim, const double* panels,
                          int64_t num_panels, const double* bias, double* scores, int64_t stride) {
  CHECK(IsDistance(form)) << "a product";
  HWY_DYNAMIC_DISPATCH(TileF64)(form, hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
template <>
float DistanceOne<float>(ScoreForm form, const float* hidden, const float* entity, int64_t dim, float bias) {
  CHECK(IsDistance(form)) << "a product";
  return HWY_DYNAMIC_DISPATCH(OneF32)(form, hidden, entity, dim, bias);
}
template <>
double DistanceOne<double>(ScoreForm form, const double* hidden, const double* entity, int64_t dim, double bias) {
  CHECK(IsDistance(form)) << "a product";
  return HWY_DYNAMIC_DISPATCH(OneF64)(form, hidden, entity, dim, bias);
}

}  // namespace rutile
#endif  // HWY_ONCE
