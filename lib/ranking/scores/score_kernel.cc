#include "lib/ranking/scores/score_kernel.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ranking/scores/score_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using VecOf = hn::Vec<hn::ScalableTag<T>>;

// Accumulators, a broadcast and the panel's vectors fill the registers: 32 with AVX-512, otherwise 16.
constexpr int kVecs = 2;
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : HWY_TARGET == HWY_AVX2 ? 6 : 4;

template <typename T>
int Width() {
  return kVecs * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
}

template <typename T>
void Pack(const T* entity, int64_t n, int64_t dim, T* panels) {
  const int64_t width = Width<T>();
  for (int64_t first = 0; first < n; first += width, panels += width * dim) {
    const int64_t filled = std::min(width, n - first);
    const T* const rows = entity + first * dim;
    for (int64_t k = 0; k < dim; ++k) {
      T* const out = panels + k * width;
      for (int64_t e = 0; e < filled; ++e) out[e] = rows[e * dim + k];
      for (int64_t e = filled; e < width; ++e) out[e] = T{0};
    }
  }
}

template <int R, typename T>
HWY_INLINE void ScorePanel(const T* HWY_RESTRICT hidden, int64_t dim, const T* HWY_RESTRICT panel,
                           const T* HWY_RESTRICT bias, T* HWY_RESTRICT scores, int64_t stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VecOf<T> sum[R][kVecs];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < dim; ++k, panel += kVecs * lanes) {
    VecOf<T> x[kVecs];
    for (int v = 0; v < kVecs; ++v) x[v] = hn::LoadU(d, panel + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto h = hn::Set(d, hidden[r * dim + k]);
      for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::MulAdd(h, x[v], sum[r][v]);
    }
  }
  for (int v = 0; v < kVecs; ++v) {
    const auto b = hn::LoadU(d, bias + v * lanes);
    for (int r = 0; r < R; ++r) hn::StoreU(hn::Add(sum[r][v], b), d, scores + r * stride + v * lanes);
  }
}

template <int R, typename T>
HWY_INLINE void ScoreRows(const T* hidden, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
                          int64_t stride) {
  const int64_t width = Width<T>();
  for (int64_t p = 0; p < num_panels; ++p) {
    ScorePanel<R, T>(hidden, dim, panels + p * width * dim, bias + p * width, scores + p * width, stride);
  }
}

template <typename T>
void Score(const T* hidden, int queries, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
           int64_t stride) {
  int q = 0;
  const auto run = [&](auto rows) {
    constexpr int kR = decltype(rows)::value;
    for (; q + kR <= queries; q += kR) {
      ScoreRows<kR, T>(hidden + q * dim, dim, panels, num_panels, bias, scores + q * stride, stride);
    }
  };
  run(std::integral_constant<int, kRows>());
  if (kRows > 4) run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 1>());
}

// Uses a vector of one lane, so that the multiply-add is fused exactly if that of the tiles is.
template <typename T>
T One(const T* hidden, const T* entity, int64_t dim, T bias) {
  const hn::CappedTag<T, 1> d;
  auto sum = hn::Zero(d);
  for (int64_t k = 0; k < dim; ++k) sum = hn::MulAdd(hn::Set(d, hidden[k]), hn::Set(d, entity[k]), sum);
  return hn::GetLane(hn::Add(sum, hn::Set(d, bias)));
}

// Computes several entities at a time, because each is a chain of multiply-adds that wait for each other.
template <typename T>
void Some(const T* hidden, const T* table, int64_t dim, const T* bias, const int32_t* ids, int64_t n, T* scores) {
  constexpr int kChains = 8;
  const hn::CappedTag<T, 1> d;
  for (int64_t first = 0; first < n; first += kChains) {
    const int64_t count = std::min<int64_t>(kChains, n - first);
    const T* rows[kChains];
    for (int64_t i = 0; i < kChains; ++i) rows[i] = table + ids[first + std::min(i, count - 1)] * dim;
    hn::Vec<decltype(d)> sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = hn::Zero(d);
    for (int64_t k = 0; k < dim; ++k) {
      const auto h = hn::Set(d, hidden[k]);
      for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(h, hn::Set(d, rows[i][k]), sum[i]);
    }
    for (int64_t i = 0; i < count; ++i) {
      const T beta = bias == nullptr ? T{0} : bias[ids[first + i]];
      scores[first + i] = hn::GetLane(hn::Add(sum[i], hn::Set(d, beta)));
    }
  }
}

template <typename T>
void Count(const T* scores, int64_t n, T target, int64_t* greater, int64_t* equal) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto t = hn::Set(d, target);
  uint64_t above = 0, same = 0;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto s = hn::LoadU(d, scores + i);
    above += hn::CountTrue(d, hn::Gt(s, t));
    same += hn::CountTrue(d, hn::Eq(s, t));
  }
  for (; i < n; ++i) {
    above += scores[i] > target ? 1 : 0;
    same += scores[i] == target ? 1 : 0;
  }
  *greater += static_cast<int64_t>(above);
  *equal += static_cast<int64_t>(same);
}

template <typename T>
void Keep(const T* HWY_RESTRICT scores, int64_t n, const uint64_t* bits, int64_t first, T left_out,
          T* HWY_RESTRICT kept) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto other = hn::Set(d, left_out);
  const auto bits_from = [bits](int64_t entity) {
    const int shift = static_cast<int>(entity % 64);
    const uint64_t low = bits[entity / 64] >> shift;
    return shift == 0 ? low : low | bits[entity / 64 + 1] << (64 - shift);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const uint64_t some = bits_from(first + i);
    uint8_t bytes[sizeof(some)];
    std::memcpy(bytes, &some, sizeof(some));
    hn::StoreU(hn::IfThenElse(hn::LoadMaskBits(d, bytes), hn::LoadU(d, scores + i), other), d, kept + i);
  }
  for (; i < n; ++i) kept[i] = (bits_from(first + i) & 1) != 0 ? scores[i] : left_out;
}

int WidthF32() { return Width<float>(); }
int WidthF64() { return Width<double>(); }
int Rows() { return kRows; }
void PackF32(const float* entity, int64_t n, int64_t dim, float* panels) { Pack(entity, n, dim, panels); }
void PackF64(const double* entity, int64_t n, int64_t dim, double* panels) { Pack(entity, n, dim, panels); }
void ScoreF32(const float* hidden, int queries, int64_t dim, const float* panels, int64_t num_panels, const float* bias,
              float* scores, int64_t stride) {
  Score(hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
void ScoreF64(const double* hidden, int queries, int64_t dim, const double* panels, int64_t num_panels,
              const double* bias, double* scores, int64_t stride) {
  Score(hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
float OneF32(const float* hidden, const float* entity, int64_t dim, float bias) {
  return One(hidden, entity, dim, bias);
}
double OneF64(const double* hidden, const double* entity, int64_t dim, double bias) {
  return One(hidden, entity, dim, bias);
}
void SomeF32(const float* hidden, const float* table, int64_t dim, const float* bias, const int32_t* ids, int64_t n,
             float* scores) {
  Some(hidden, table, dim, bias, ids, n, scores);
}
void SomeF64(const double* hidden, const double* table, int64_t dim, const double* bias, const int32_t* ids, int64_t n,
             double* scores) {
  Some(hidden, table, dim, bias, ids, n, scores);
}
void CountF32(const float* scores, int64_t n, float target, int64_t* greater, int64_t* equal) {
  Count(scores, n, target, greater, equal);
}
void CountF64(const double* scores, int64_t n, double target, int64_t* greater, int64_t* equal) {
  Count(scores, n, target, greater, equal);
}
void KeepF32(const float* scores, int64_t n, const uint64_t* bits, int64_t first, float left_out, float* kept) {
  Keep(scores, n, bits, first, left_out, kept);
}
void KeepF64(const double* scores, int64_t n, const uint64_t* bits, int64_t first, double left_out, double* kept) {
  Keep(scores, n, bits, first, left_out, kept);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {

HWY_EXPORT(WidthF32);
HWY_EXPORT(WidthF64);
HWY_EXPORT(Rows);
HWY_EXPORT(PackF32);
HWY_EXPORT(PackF64);
HWY_EXPORT(ScoreF32);
HWY_EXPORT(ScoreF64);
HWY_EXPORT(OneF32);
HWY_EXPORT(OneF64);
HWY_EXPORT(SomeF32);
HWY_EXPORT(SomeF64);
HWY_EXPORT(CountF32);
HWY_EXPORT(CountF64);
HWY_EXPORT(KeepF32);
HWY_EXPORT(KeepF64);

template <>
int PanelWidth<float>() {
  return HWY_DYNAMIC_DISPATCH(WidthF32)();
}
template <>
int PanelWidth<double>() {
  return HWY_DYNAMIC_DISPATCH(WidthF64)();
}
template <>
int TileQueries<float>() {
  return HWY_DYNAMIC_DISPATCH(Rows)();
}
template <>
int TileQueries<double>() {
  return HWY_DYNAMIC_DISPATCH(Rows)();
}
template <>
void PackPanels<float>(const float* entity, int64_t n, int64_t dim, float* panels) {
  HWY_DYNAMIC_DISPATCH(PackF32)(entity, n, dim, panels);
}
template <>
void PackPanels<double>(const double* entity, int64_t n, int64_t dim, double* panels) {
  HWY_DYNAMIC_DISPATCH(PackF64)(entity, n, dim, panels);
}
template <>
void ScoreTile<float>(const float* hidden, int queries, int64_t dim, const float* panels, int64_t num_panels,
                      const float* bias, float* scores, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(ScoreF32)(hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
template <>
void ScoreTile<double>(const double* hidden, int queries, int64_t dim, const double* panels, int64_t num_panels,
                       const double* bias, double* scores, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(ScoreF64)(hidden, queries, dim, panels, num_panels, bias, scores, stride);
}
template <>
float ScoreOne<float>(const float* hidden, const float* entity, int64_t dim, float bias) {
  return HWY_DYNAMIC_DISPATCH(OneF32)(hidden, entity, dim, bias);
}
template <>
double ScoreOne<double>(const double* hidden, const double* entity, int64_t dim, double bias) {
  return HWY_DYNAMIC_DISPATCH(OneF64)(hidden, entity, dim, bias);
}
template <>
void ScoreSome<float>(const float* hidden, const float* table, int64_t dim, const float* bias, const int32_t* ids,
                      int64_t n, float* scores) {
  HWY_DYNAMIC_DISPATCH(SomeF32)(hidden, table, dim, bias, ids, n, scores);
}
template <>
void ScoreSome<double>(const double* hidden, const double* table, int64_t dim, const double* bias, const int32_t* ids,
                       int64_t n, double* scores) {
  HWY_DYNAMIC_DISPATCH(SomeF64)(hidden, table, dim, bias, ids, n, scores);
}
template <>
void CountScores<float>(const float* scores, int64_t n, float target, int64_t* greater, int64_t* equal) {
  HWY_DYNAMIC_DISPATCH(CountF32)(scores, n, target, greater, equal);
}
template <>
void CountScores<double>(const double* scores, int64_t n, double target, int64_t* greater, int64_t* equal) {
  HWY_DYNAMIC_DISPATCH(CountF64)(scores, n, target, greater, equal);
}
template <>
void KeepScores<float>(const float* scores, int64_t n, const uint64_t* bits, int64_t first, float left_out,
                       float* kept) {
  HWY_DYNAMIC_DISPATCH(KeepF32)(scores, n, bits, first, left_out, kept);
}
template <>
void KeepScores<double>(const double* scores, int64_t n, const uint64_t* bits, int64_t first, double left_out,
                        double* kept) {
  HWY_DYNAMIC_DISPATCH(KeepF64)(scores, n, bits, first, left_out, kept);
}

}  // namespace rutile
#endif  // HWY_ONCE
