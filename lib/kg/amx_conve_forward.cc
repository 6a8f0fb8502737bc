#include "lib/kg/amx_conve_forward.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/kg/amx_tiles.h"
#include "lib/kg/bf16_machines.h"

namespace rutile {

#if defined(__x86_64__)
namespace {

using amx::kLineBytes;
using amx::kLines;
using amx::kTile;
using amx::kWords;
using amx::RoundUp;

// A step of the sums is a position with 32 channels. Steps at one time: their part of two columns of tiles of fc's
// weight, 32 KB, stays in the first cache.
constexpr int64_t kSteps = 8;
// Examples at one time: their maps of these steps, 0.4 MB, and their sums stay in the second.
constexpr int64_t kExamples = 384;
constexpr int64_t kMostTaps = 15;

// A line of the left factor for each example: [step][rounded, rest] of 32 numbers.
constexpr int64_t kLeftWords = kSteps * 2 * kWords;

// Right factors: for each group of steps, pair of columns of tiles, step, column and part a tile [pair of channels,
// column].
struct Right {
  const uint32_t* tiles;
  int64_t columns;  // of tiles
  int64_t parts;    // 2, or 1: rounded alone

  // first: the step. column: even.
  const uint32_t* At(int64_t first, int64_t steps, int64_t column) const {
    return tiles + (first * columns + steps * column) * parts * kTile;
  }
};

void PackRight(const ConvShape& conv, int64_t blocks, const float* rows, int64_t n, int64_t parts, uint32_t* packed) {
  const int64_t positions = conv.map_size(), columns = (n + kLines - 1) / kLines;
  const Right right = {packed, columns, parts};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t column = j / kLines, even = column / 2 * 2, width = std::min<int64_t>(2, columns - even);
    for (int64_t c = 0; c < conv.channels; ++c) {
      const float* const row = rows + (j * conv.channels + c) * positions;
      const int64_t block = c / kAmxChannels, pair = c % kAmxChannels / 2;
      for (int64_t p = 0; p < positions; ++p) {
        const int64_t step = block * positions + p, group = step / kSteps * kSteps;
        const int64_t steps = std::min(kSteps, blocks * positions - group);
        const uint32_t* const tile =
            right.At(group, steps, even) + ((step - group) * width + column - even) * parts * kTile;
        uint16_t* const to =
            reinterpret_cast<uint16_t*>(packed + (tile - packed)) + (pair * kWords + j % kLines) * 2 + c % 2;
        to[0] = amx::RoundedNumber(row[p]);
        if (parts == 2) to[2 * kTile] = amx::RoundedNumber(row[p] - amx::NumberOf(to[0]));
      }
    }
  }
}

// Maps of N positions, next to each other in a row, of 32 channels.
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
      // NaN is not less than 0, and stays.
      const __m512 a = _mm512_mask_mov_ps(sums[n][0], _mm512_cmp_ps_mask(sums[n][0], zero, _CMP_LT_OQ), zero);
      const __m512 b = _mm512_mask_mov_ps(sums[n][1], _mm512_cmp_ps_mask(sums[n][1], zero, _CMP_LT_OQ), zero);
      positive[n] = static_cast<uint32_t>(_mm512_cmp_ps_mask(a, zero, _CMP_GT_OQ)) |
                    static_cast<uint32_t>(_mm512_cmp_ps_mask(b, zero, _CMP_GT_OQ)) << 16;
      const __m512i rounded = amx::Rounded(a, b);
      const __m512i rest =
          amx::Rounded(_mm512_sub_ps(a, amx::FirstOf(rounded)), _mm512_sub_ps(b, amx::SecondOf(rounded)));
      _mm512_store_si512(left + n * 2 * kWords, rounded);
      _mm512_store_si512(left + (n * 2 + 1) * kWords, rest);
      squares[0] = _mm512_fmadd_ps(a, a, squares[0]);
      squares[1] = _mm512_fmadd_ps(b, b, squares[1]);
    }
  }

  // Of the positions [first, last); positive: of `first`.
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

// sums of R x C tiles += left right, over some steps. `right`: of this pair of columns.
template <int R, int C, int kParts>
RUTILE_TILES RUTILE_INLINE void AddTiles(const uint32_t* left, const uint32_t* right, int64_t steps, float* sums,
                                         int64_t stride) {
  constexpr int64_t kLeftBytes = kLeftWords * sizeof(uint32_t);
  const int64_t bytes = stride * static_cast<int64_t>(sizeof(float));
  const uint32_t* const lower = left + kLines * kLeftWords;
  float* const lower_sums = sums + kLines * stride;
  RUTILE_MEMORY;
  _tile_loadd(0, sums, bytes);
  if constexpr (C > 1) _tile_loadd(1, sums + kLines, bytes);
  if constexpr (R > 1) _tile_loadd(2, lower_sums, bytes);
  if constexpr (R > 1 && C > 1) _tile_loadd(3, lower_sums + kLines, bytes);
    // Tiles 4 and 5 times 6 and 7.
#define RUTILE_MULTIPLY                         \
  _tile_dpbf16ps(0, 4, 6);                      \
  if constexpr (C > 1) _tile_dpbf16ps(1, 4, 7); \
  if constexpr (R > 1) _tile_dpbf16ps(2, 5, 6); \
  if constexpr (R > 1 && C > 1) _tile_dpbf16ps(3, 5, 7)
  for (int64_t s = 0; s < steps; ++s, right += C * kParts * kTile) {
    const uint32_t *const a = left + s * 2 * kWords, *const b = lower + s * 2 * kWords;
    _tile_loadd(6, right, kLineBytes);
    if constexpr (C > 1) _tile_loadd(7, right + kParts * kTile, kLineBytes);
    if constexpr (kParts > 1) {
      _tile_loadd(4, a + kWords, kLeftBytes);
      if constexpr (R > 1) _tile_loadd(5, b + kWords, kLeftBytes);
      RUTILE_MULTIPLY;
    }
    _tile_loadd(4, a, kLeftBytes);
    if constexpr (R > 1) _tile_loadd(5, b, kLeftBytes);
    RUTILE_MULTIPLY;
    if constexpr (kParts > 1) {
      _tile_loadd(6, right + kTile, kLineBytes);
      if constexpr (C > 1) _tile_loadd(7, right + (kParts + 1) * kTile, kLineBytes);
      RUTILE_MULTIPLY;
    }
  }
#undef RUTILE_MULTIPLY
  _tile_stored(0, sums, bytes);
  if constexpr (C > 1) _tile_stored(1, sums + kLines, bytes);
  if constexpr (R > 1) _tile_stored(2, lower_sums, bytes);
  if constexpr (R > 1 && C > 1) _tile_stored(3, lower_sums + kLines, bytes);
  RUTILE_MEMORY;
}

template <int C, int kParts>
RUTILE_TILES void AddColumns(const uint32_t* left, int64_t examples, const uint32_t* right, int64_t steps, float* sums,
                             int64_t stride) {
  int64_t e = 0;
  for (; e + 2 * kLines <= examples; e += 2 * kLines) {
    AddTiles<2, C, kParts>(left + e * kLeftWords, right, steps, sums + e * stride, stride);
  }
  for (; e < examples; e += kLines) {
    AddTiles<1, C, kParts>(left + e * kLeftWords, right, steps, sums + e * stride, stride);
  }
}

// examples: whole lines of tiles. sums: of the first column.
template <int kParts>
void AddProduct(const uint32_t* left, int64_t examples, const Right& right, int64_t first, int64_t steps, float* sums,
                int64_t stride) {
  for (int64_t column = 0; column < right.columns; column += 2) {
    const uint32_t* const tiles = right.At(first, steps, column);
    if (column + 2 <= right.columns) {
      AddColumns<2, kParts>(left, examples, tiles, steps, sums + column * kLines, stride);
    } else {
      AddColumns<1, kParts>(left, examples, tiles, steps, sums + column * kLines, stride);
    }
  }
}

int64_t TilesOf(int64_t n) { return (n + kLines - 1) / kLines; }

}  // namespace

bool AmxConveFits(const ConvShape& conv) { return HasBf16Amx() && conv.taps() <= kMostTaps; }

AmxConveForward::AmxConveForward(const ConvShape& conv, const float* weight, const float* bias, const float* fc,
                                 int64_t outputs)
    : conv_(conv), outputs_(outputs), blocks_((conv.channels + kAmxChannels - 1) / kAmxChannels) {
  CHECK(AmxConveFits(conv));
  const int64_t taps = conv.taps();
  weight_.resize(blocks_ * taps * kAmxChannels);
  bias_.resize(blocks_ * kAmxChannels);
  for (int64_t c = 0; c < conv.channels; ++c) {
    const int64_t block = c / kAmxChannels, channel = c % kAmxChannels;
    bias_[c] = bias[c];
    for (int64_t k = 0; k < taps; ++k) weight_[(block * taps + k) * kAmxChannels + channel] = weight[c * taps + k];
  }
  PackRight(conv, blocks_, fc, outputs, 2, fc_.Take(AmxMapWords(conv) * TilesOf(outputs) * 2 * kTile));
}

void AmxConveForward::Hold(const float* held, int64_t rows) {
  held_rows_ = rows;
  held_ = AlignedWords();
  if (rows == 0) return;
  PackRight(conv_, blocks_, held, rows, 1, held_.Take(AmxMapWords(conv_) * TilesOf(rows) * kTile));
}

void AmxConveForward::RunSome(const float* images, int64_t examples, const Results& results,
                              AlignedWords* memory) const {
  const int64_t positions = conv_.map_size(), all_steps = blocks_ * positions, lines = RoundUp(examples, kLines);
  const Right fc = {fc_.data(), TilesOf(outputs_), 2};
  const Right held = {held_.data(), results.products == nullptr ? 0 : TilesOf(held_rows_), 1};
  const int64_t stride = (fc.columns + held.columns) * kLines;
  uint32_t* const left = memory->Take(lines * (kLeftWords + stride));
  float* const sums = reinterpret_cast<float*>(left + lines * kLeftWords);
  std::fill_n(sums, lines * stride, 0.0f);
  if (results.squares != nullptr) std::fill_n(results.squares, examples, 0.0f);
  const amx::TileConfiguration configuration;
  for (int64_t first = 0; first < all_steps; first += kSteps) {
    const int64_t steps = std::min(kSteps, all_steps - first);
    for (int64_t s = 0, end = 0; s < steps; s = end) {  // of one block of channels
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
    AddProduct<1>(left, lines, held, first, steps, sums + fc.columns * kLines, stride);
  }
  for (int64_t e = 0; e < examples; ++e) {
    std::copy_n(sums + e * stride, outputs_, results.sums + e * outputs_);
    if (held.columns == 0) continue;
    std::copy_n(sums + e * stride + fc.columns * kLines, held_rows_, results.products + e * held_rows_);
  }
}

void AmxConveForward::Run(const float* images, int64_t examples, const Results& results, AlignedWords* memory) const {
  const int64_t pieces = std::max<int64_t>(1, (examples + kExamples - 1) / kExamples);
  const int64_t most = (examples + pieces - 1) / pieces;
  for (int64_t e = 0; e < examples; e += most) {
    Results some = results;
    some.sums += e * outputs_;
    if (some.products != nullptr) some.products += e * held_rows_;
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
void AmxConveForward::Hold(const float*, int64_t) {}
void AmxConveForward::RunSome(const float*, int64_t, const Results&, AlignedWords*) const {}
void AmxConveForward::Run(const float*, int64_t, const Results&, AlignedWords*) const {}
#endif

}  // namespace rutile
