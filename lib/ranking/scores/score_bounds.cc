#include "lib/ranking/scores/score_bounds.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ranking/scores/score_bounds.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rounds to the nearest bfloat16, ties to even; numbers below the normal ones become zero, as in tiles.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundedToBf16(D d, V x) {
  const hn::RebindToUnsigned<D> u;
  const auto bits = hn::BitCast(u, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto up = hn::Add(bits, hn::Add(hn::Set(u, 0x7fff), odd));
  const auto rounded = hn::BitCast(d, hn::And(up, hn::Set(u, 0xffff0000u)));
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), hn::Set(d, 1.2e-38f)), rounded);
}

void Norms(const float* rows, int64_t n, int64_t dim, float* rounded, float* rest) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Squares below 1.2e-38 may be lost.
  const float lost = 2e-19f * std::sqrt(static_cast<float>(dim));
  for (int64_t i = 0; i < n; ++i, rows += dim) {
    auto sum = hn::Zero(d), sum_of_rest = hn::Zero(d);
    const auto add = [&](hn::Vec<decltype(d)> x) {
      const auto r = RoundedToBf16(d, x), left = hn::Sub(x, r);
      sum = hn::MulAdd(r, r, sum);
      sum_of_rest = hn::MulAdd(left, left, sum_of_rest);
    };
    int64_t k = 0;
    for (; k + lanes <= dim; k += lanes) add(hn::LoadU(d, rows + k));
    if (k < dim) {
      HWY_ALIGN float tail[HWY_MAX_BYTES / sizeof(float)] = {};
      std::copy(rows + k, rows + dim, tail);
      add(hn::Load(d, tail));
    }
    // A sum of n terms in fp32 is too small by at most n 2^-24 of it: 0.1 % for a million.
    constexpr float kUp = 1.1f;
    const float slack = dim < 100000 ? 1.01f : kUp;
    rounded[i] = slack * std::sqrt(hn::GetLane(hn::SumOfLanes(d, sum))) + lost;
    rest[i] = slack * std::sqrt(hn::GetLane(hn::SumOfLanes(d, sum_of_rest))) + lost;
  }
}

// The bias is added twice, rounded each time, to a sum no larger than the score and the bias together.
constexpr float kOfBias = 0x1p-22f, kLeast = 1e-30f;

int64_t Decide(const BoundedBlock& block, const float* HWY_RESTRICT scores, const QueryBound& query, float target,
               int64_t* greater, int32_t* HWY_RESTRICT undecided) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> i32;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto t = hn::Set(d, target), a = hn::Set(d, query.rounded), b = hn::Set(d, query.rest);
  const auto of_bias = hn::Set(d, kOfBias), least = hn::Set(d, kLeast);
  const float *HWY_RESTRICT bias = block.bias, *HWY_RESTRICT rounded = block.rounded, *HWY_RESTRICT rest = block.rest;
  uint64_t above = 0;
  int64_t count = 0, k = 0;
  auto index = hn::Iota(i32, 0);
  const auto step = hn::Set(i32, static_cast<int32_t>(lanes));
  for (; k + lanes <= block.n; k += lanes, index = hn::Add(index, step)) {
    const auto beta = hn::LoadU(d, bias + k), score = hn::Add(hn::LoadU(d, scores + k), beta);
    const auto difference = hn::Sub(score, t);
    auto reach = hn::MulAdd(b, hn::LoadU(d, rest + k), least);
    reach = hn::MulAdd(a, hn::LoadU(d, rounded + k), reach);
    reach = hn::MulAdd(of_bias, hn::Add(hn::Abs(score), hn::Abs(beta)), reach);
    const auto is_above = hn::Gt(difference, reach), is_below = hn::Lt(difference, hn::Neg(reach));
    above += hn::CountTrue(d, is_above);
    const auto open = hn::RebindMask(i32, hn::Not(hn::Or(is_above, is_below)));
    hn::StoreU(hn::Compress(index, open), i32, undecided + count);
    count += static_cast<int64_t>(hn::CountTrue(i32, open));
  }
  for (; k < block.n; ++k) {
    const float score = scores[k] + bias[k], difference = score - target;
    const float reach =
        query.rounded * rounded[k] + query.rest * rest[k] + kLeast + kOfBias * (std::abs(score) + std::abs(bias[k]));
    if (difference > reach) {
      ++above;
    } else if (!(difference < -reach)) {
      undecided[count++] = static_cast<int32_t>(k);
    }
  }
  *greater += static_cast<int64_t>(above);
  return count;
}

int64_t DecideByProducts(const BoundedBlock& block, const float* HWY_RESTRICT hidden, const QueryBound& query,
                         float target, int64_t count, int64_t* greater, int32_t* undecided) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), dim = block.dim, whole = dim / lanes * lanes;
  constexpr int kAtOnce = 4;
  // The last vector overlaps the previous one if the dimensions are no multiple of the lanes; the overlap is zeroed.
  const int64_t last = dim - lanes;
  HWY_ALIGN float tail[HWY_MAX_BYTES / sizeof(float)] = {};
  const bool has_tail = whole < dim && last >= 0;
  if (has_tail) std::copy(hidden + whole, hidden + dim, tail + whole - last);
  const auto h_tail = hn::Load(d, tail);
  uint64_t above = 0;
  int64_t left = 0;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    int32_t at[kAtOnce];
    const float* rows[kAtOnce];
    for (int64_t i = 0; i < kAtOnce; ++i) {
      at[i] = undecided[std::min(first + i, count - 1)];
      rows[i] = block.rows + at[i] * dim;
    }
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t k = 0; k < whole; k += lanes) {
      const auto h = hn::LoadU(d, hidden + k);
      s0 = hn::MulAdd(h, hn::LoadU(d, rows[0] + k), s0);
      s1 = hn::MulAdd(h, hn::LoadU(d, rows[1] + k), s1);
      s2 = hn::MulAdd(h, hn::LoadU(d, rows[2] + k), s2);
      s3 = hn::MulAdd(h, hn::LoadU(d, rows[3] + k), s3);
    }
    if (has_tail) {
      s0 = hn::MulAdd(h_tail, hn::LoadU(d, rows[0] + last), s0);
      s1 = hn::MulAdd(h_tail, hn::LoadU(d, rows[1] + last), s1);
      s2 = hn::MulAdd(h_tail, hn::LoadU(d, rows[2] + last), s2);
      s3 = hn::MulAdd(h_tail, hn::LoadU(d, rows[3] + last), s3);
    }
    float sums[kAtOnce] = {hn::GetLane(hn::SumOfLanes(d, s0)), hn::GetLane(hn::SumOfLanes(d, s1)),
                           hn::GetLane(hn::SumOfLanes(d, s2)), hn::GetLane(hn::SumOfLanes(d, s3))};
    for (int64_t i = 0; i < std::min<int64_t>(kAtOnce, count - first); ++i) {
      if (last < 0) {
        for (int64_t k = 0; k < dim; ++k) sums[i] += hidden[k] * rows[i][k];
      }
      const float beta = block.bias[at[i]], score = sums[i] + beta, difference = score - target;
      const float reach = query.exact * (block.rounded[at[i]] + block.rest[at[i]]) + kLeast +
                          kOfBias * (std::abs(score) + std::abs(beta));
      const bool is_above = difference > reach, is_below = difference < -reach;
      above += is_above ? 1 : 0;
      undecided[left] = at[i];
      left += is_above || is_below ? 0 : 1;
    }
  }
  *greater += static_cast<int64_t>(above);
  return left;
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {

HWY_EXPORT(Norms);
HWY_EXPORT(Decide);
HWY_EXPORT(DecideByProducts);

void RowNorms(const float* rows, int64_t n, int64_t dim, float* rounded, float* rest) {
  HWY_DYNAMIC_DISPATCH(Norms)(rows, n, dim, rounded, rest);
}

QueryBound MakeQueryBound(float norm_rounded, float norm_rest, int64_t dim) {
  const float both = norm_rounded + norm_rest;
  // 1 % allows for the rounding of norms, products and sums of bounds.
  const float roundings = 0x1p-24f * (2 * static_cast<float>(dim) + 64);
  const float exact = roundings * both;
  return {1.01f * (norm_rest + exact), 1.01f * (both + exact), 1.01f * exact};
}

int64_t CountDecided(const BoundedBlock& block, const float* scores, const QueryBound& query, float target,
                     int64_t* greater, int32_t* undecided) {
  return HWY_DYNAMIC_DISPATCH(Decide)(block, scores, query, target, greater, undecided);
}

int64_t CountDecidedByProducts(const BoundedBlock& block, const float* hidden, const QueryBound& query, float target,
                               int64_t count, int64_t* greater, int32_t* undecided) {
  return HWY_DYNAMIC_DISPATCH(DecideByProducts)(block, hidden, query, target, count, greater, undecided);
}

}  // namespace rutile
#endif  // HWY_ONCE
