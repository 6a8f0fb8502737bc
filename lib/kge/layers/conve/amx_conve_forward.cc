#include "lib/kge/layers/conve/amx_conve_forward.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/matrix/bf16/amx_split_tiles.h"
#include "lib/matrix/bf16/amx_tiles.h"
#include "lib/matrix/bf16/bf16_machines.h"

namespace rutile {

#if defined(__x86_64__)
namespace {

using amx::AddProduct;
using amx::kLeftWords;
using amx::kLines;
using amx::kSteps;
using amx::kWords;
using amx::Right;
using amx::TilesOf;

// A step of the sums is a position with 32 channels.
// Examples computed at once: their maps of these steps, 0.4 MB, and their sums stay in the second-level cache.
constexpr int64_t kExamples = 384;
constexpr int64_t kMostTaps = 15;

void PackRight(const ConvShape& conv, const float* rows, int64_t n, const Right& right) {
  const int64_t positions = conv.map_size();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < conv.channels; ++c, rows += positions) {
      for (int64_t p = 0; p < positions; ++p) {
        right.Put(j, c / kAmxChannels * positions + p, c % kAmxChannels, rows[p]);
      }
    }
  }
}

// Computes maps of N consecutive positions of a row, 32 channels each.
struct MapRun {
  const ConvShape& conv;
  const float *weight, *bias;  // [K, 32], [32]

  template <int N>
  RUTILE_PACK RUTILE_INLINE void Make(const float* image, uint32_t* left, uint32_t* positive, __m512* squares) const {
    __m512 sums[N][2];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      sums[n][0] = _mm512_loadu_ps(bias);
      sums[n][1] = _mm512_loadu_ps(bias + 16);
    }
    const float* w = weight;
    for (int64_t i = 0; i < conv.kernel_height; ++i) {
      const float* x = image + i * conv.image_width;
      for (int64_t j = 0; j < conv.kernel_width; ++j, ++x, w += kAmxChannels) {
        const __m512 first = _mm512_loadu_ps(w), second = _mm512_loadu_ps(w + 16);
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) {
          const __m512 number = _mm512_set1_ps(x[n]);
          sums[n][0] = _mm512_fmadd_ps(first, number, sums[n][0]);
          sums[n][1] = _mm512_fmadd_ps(second, number, sums[n][1]);
        }
      }
    }
    const __m512 zero = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      // NaN is not less than 0, and stays NaN.
      const __m512 a = _mm512_mask_mov_ps(sums[n][0], _mm512_cmp_ps_mask(sums[n][0], zero, _CMP_LT_OQ), zero);
      const __m512 b = _mm512_mask_mov_ps(sums[n][1], _mm512_cmp_ps_mask(sums[n][1], zero, _CMP_LT_OQ), zero);
      positive[n] = static_cast<uint32_t>(_mm512_cmp_ps_mask(a, zero, _CMP_GT_OQ)) |
                    static_cast<uint32_t>(_mm512_cmp_ps_mask(b, zero, _CMP_GT_OQ)) << 16;
      amx::PutLeft(a, b, left + n * 2 * kWords);
      squares[0] = _mm512_fmadd_ps(a, a, squares[0]);
      squares[1] = _mm512_fmadd_ps(b, b, squares[1]);
    }
  }

  // Computes the maps of the steps [first, last); `positive` begins at `first`.
  RUTILE_PACK void MakeAll(const float* image, int64_t first, int64_t last, uint32_t* left, uint32_t* positive,
                           float* sum_of_squares) const {
    __m512 squares[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    const int64_t width = conv.map_width();
    for (int64_t p = first; p < last;) {
      const int64_t y = p / width, x = p % width, n = std::min(width - x, last - p);
      const float* const at = image + y * conv.image_width + x;
      if (n >= 4) {
        Make<4>(at, left, positive, squares), p += 4, left += 8 * kWords, positive += 4;
      } else if (n >= 2) {
        Make<2>(at, left, positive, squares), p += 2, left += 4 * kWords, positive += 2;
      } else {
        Make<1>(at, left, positive, squares), p += 1, left += 2 * kWords, positive += 1;
      }
    }
    if (sum_of_squares != nullptr) *sum_of_squares += _mm512_reduce_add_ps(_mm512_add_ps(squares[0], squares[1]));
  }
};

}  // namespace

bool AmxConveFits(const ConvShape& conv) { return HasBf16Amx() && conv.taps() <= kMostTaps; }

AmxConveForward::AmxConveForward(const ConvShape& conv, const float* weight, const float* bias, const float* fc,
                                 int64_t outputs)
    : conv_(conv), outputs_(outputs), blocks_(CeilDivide(conv.channels, kAmxChannels)) {
  CHECK(AmxConveFits(conv));
  const int64_t taps = conv.taps();
  weight_.resize(blocks_ * taps * kAmxChannels);
  bias_.resize(blocks_ * kAmxChannels);
  for (int64_t c = 0; c < conv.channels; ++c) {
    const int64_t block = c / kAmxChannels, channel = c % kAmxChannels;
    bias_[c] = bias[c];
    for (int64_t k = 0; k < taps; ++k) weight_[(block * taps + k) * kAmxChannels + channel] = weight[c * taps + k];
  }
  const int64_t steps = AmxMapWords(conv), columns = TilesOf(outputs);
  PackRight(conv, fc, outputs, {fc_.Take(Right::Words(columns, 2, steps)), columns, 2, steps});
}

void AmxConveForward::SetMapRows(const float* map_rows, int64_t rows) {
  num_map_rows_ = rows;
  map_rows_ = AlignedBuffer<uint32_t>();
  if (rows == 0) return;
  const int64_t steps = AmxMapWords(conv_), columns = TilesOf(rows);
  PackRight(conv_, map_rows, rows, {map_rows_.Take(Right::Words(columns, 1, steps)), columns, 1, steps});
}

void AmxConveForward::RunSome(const float* images, int64_t examples, const Results& results,
                              AlignedBuffer<uint32_t>* memory) const {
  const int64_t positions = conv_.map_size(), all_steps = blocks_ * positions, lines = RoundUp(examples, kLines);
  const Right fc = {fc_.data(), TilesOf(outputs_), 2, all_steps};
  const Right map_rows = {map_rows_.data(), results.products == nullptr ? 0 : TilesOf(num_map_rows_), 1, all_steps};
  const int64_t stride = (fc.columns + map_rows.columns) * kLines;
  uint32_t* const left = memory->Take(lines * (kLeftWords + stride));
  float* const sums = reinterpret_cast<float*>(left + lines * kLeftWords);
  std::fill_n(sums, lines * stride, 0.0f);
  if (results.squares != nullptr) std::fill_n(results.squares, examples, 0.0f);
  const amx::TileConfiguration configuration;
  for (int64_t first = 0; first < all_steps; first += kSteps) {
    const int64_t steps = std::min(kSteps, all_steps - first);
    for (int64_t s = 0, end = 0; s < steps; s = end) {  // each part lies in one block of channels
      const int64_t block = (first + s) / positions;
      end = std::min(steps, (block + 1) * positions - first);
      const MapRun run = {conv_, weight_.data() + block * conv_.taps() * kAmxChannels,
                          bias_.data() + block * kAmxChannels};
      for (int64_t e = 0; e < examples; ++e) {
        run.MakeAll(images + e * conv_.image_size(), first + s - block * positions, first + end - block * positions,
                    left + e * kLeftWords + s * 2 * kWords, results.positive + e * all_steps + first + s,
                    results.squares == nullptr ? nullptr : results.squares + e);
      }
    }
    AddProduct<2>(left, lines, fc, first, steps, sums, stride);
    AddProduct<1>(left, lines, map_rows, first, steps, sums + fc.columns * kLines, stride);
  }
  for (int64_t e = 0; e < examples; ++e) {
    std::copy_n(sums + e * stride, outputs_, results.sums + e * outputs_);
    if (map_rows.columns == 0) continue;
    std::copy_n(sums + e * stride + fc.columns * kLines, num_map_rows_, results.products + e * num_map_rows_);
  }
}

void AmxConveForward::Run(const float* images, int64_t examples, const Results& results,
                          AlignedBuffer<uint32_t>* memory) const {
  const int64_t pieces = std::max<int64_t>(1, (examples + kExamples - 1) / kExamples);
  const int64_t most = (examples + pieces - 1) / pieces;
  for (int64_t e = 0; e < examples; e += most) {
    Results some = results;
    some.sums += e * outputs_;
    if (some.products != nullptr) some.products += e * num_map_rows_;
    some.positive += e * AmxMapWords(conv_);
    if (some.squares != nullptr) some.squares += e;
    RunSome(images + e * conv_.image_size(), std::min(most, examples - e), some, memory);
  }
}

#else
bool AmxConveFits(const ConvShape&) { return false; }
AmxConveForward::AmxConveForward(const ConvShape& conv, const float*, const float*, const float*, int64_t outputs)
    : conv_(conv), outputs_(outputs), blocks_(0) {
  CHECK(AmxConveFits(conv));
}
void AmxConveForward::SetMapRows(const float*, int64_t) {}
void AmxConveForward::RunSome(const float*, int64_t, const Results&, AlignedBuffer<uint32_t>*) const {}
void AmxConveForward::Run(const float*, int64_t, const Results&, AlignedBuffer<uint32_t>*) const {}
#endif

}  // namespace rutile
