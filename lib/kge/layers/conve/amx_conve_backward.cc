#include "lib/kge/layers/conve/amx_conve_backward.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/amx_conve_forward.h"
#include "lib/matrix/bf16/amx_tiles.h"
#include "lib/matrix/bf16/bf16_number.h"

namespace rutile {

#if defined(__x86_64__)
namespace {

using amx::kLineBytes;
using amx::kLines;
using amx::kNumbers;
using amx::kTile;
using amx::kWords;
using amx::Mask;
using amx::StepsOf;

// Examples computed at once: the lines of two tiles.
constexpr int64_t kExamples = 2 * kLines;
// Approximate number of map positions computed at once: their part of fc's weight, 0.9 MB for 200 inputs, stays in the
// second-level cache.
constexpr int64_t kPositions = 64;

// Conv's weight is split into this many bfloat16 numbers.
constexpr int64_t kParts = 2;

// Returns how many positions of a row of the map have their patches within the columns of one tile of the image.
int64_t Window(const ConvShape& conv) { return std::min(conv.map_width(), kLines - conv.kernel_width + 1); }

int64_t GroupRows(const ConvShape& conv) {
  return std::clamp<int64_t>(kPositions / conv.map_width(), 1, conv.map_height());
}

uint16_t* Numbers(uint32_t* words) { return reinterpret_cast<uint16_t*>(words); }

// Packs fc as [block of channels, position, step, half of the channels] tiles of [pair of inputs, channel].
void PackFc(const ConvShape& conv, const float* fc, int64_t inputs, uint32_t* packed) {
  const int64_t positions = conv.map_size(), steps = StepsOf(inputs);
  for (int64_t j = 0; j < inputs; ++j) {
    for (int64_t c = 0; c < conv.channels; ++c) {
      const float* const row = fc + (j * conv.channels + c) * positions;
      const int64_t block = c / kAmxChannels, channel = c % kAmxChannels;
      uint32_t* tile = packed + ((block * positions * steps + j / kNumbers) * 2 + channel / kLines) * kTile;
      for (int64_t p = 0; p < positions; ++p, tile += 2 * steps * kTile) {
        amx::PutRight<1>(tile, j % kNumbers, channel % kLines, row[p]);
      }
    }
  }
}

// Packs conv's weight as [block of channels, row of the kernel, position in the window, part] tiles of [pair of
// channels, column of the image]. It has two parts, since its rounding error would be the same for all examples.
void PackWeight(const ConvShape& conv, const float* weight, uint32_t* packed) {
  const int64_t window = Window(conv);
  for (int64_t c = 0; c < conv.channels; ++c) {
    const int64_t block = c / kAmxChannels, channel = c % kAmxChannels;
    for (int64_t i = 0; i < conv.kernel_height; ++i) {
      for (int64_t x = 0; x < window; ++x) {
        uint32_t* const tile = packed + ((block * conv.kernel_height + i) * window + x) * kParts * kTile;
        for (int64_t j = 0; j < conv.kernel_width; ++j) {
          amx::PutRight<kParts>(tile, channel, x + j, weight[c * conv.taps() + i * conv.kernel_width + j]);
        }
      }
    }
  }
}

RUTILE_PACK RUTILE_INLINE void RoundRow(const float* from, int64_t n, uint32_t* to) {
  for (int64_t i = 0; i < n; i += kNumbers) {
    _mm512_storeu_si512(to + i / 2, amx::Rounded(_mm512_maskz_loadu_ps(Mask(n - i), from + i),
                                                 _mm512_maskz_loadu_ps(Mask(n - i - 16), from + i + 16)));
  }
}

// Packs slopes as [block of examples, step, half of the examples] tiles of [example, 32 inputs].
RUTILE_PACK void PackSlopes(const float* slopes, int64_t examples, int64_t inputs, uint32_t* packed) {
  const int64_t steps = StepsOf(inputs);
  for (int64_t e = 0; e < examples; ++e) {
    for (int64_t s = 0; s < steps; ++s) {
      RoundRow(slopes + e * inputs + s * kNumbers, std::min(kNumbers, inputs - s * kNumbers),
               packed + ((e / kExamples * steps + s) * 2 + e % kExamples / kLines) * kTile + e % kLines * kWords);
    }
  }
}

}  // namespace

// One call of Run, and its memory.
struct AmxConveBackward::Pass {
  Pass(const AmxConveBackward& layers, const Examples& all_examples, AlignedBuffer<uint32_t>* memory)
      : conv(layers.conv_),
        examples(all_examples),
        size(examples.end - examples.begin),
        steps(StepsOf(layers.inputs_)),
        first_key(size == 0 ? 0 : examples.key[examples.begin]),
        image_words(RoundUp(conv.image_size(), kNumbers) / 2 + kWords),
        patch_lines(conv.taps() + 1),
        most_positions(RoundUp(layers.group_rows_ * conv.map_width(), kNumbers)),
        dy_words((most_positions + 1) * kWords),
        patch_words(patch_lines * (most_positions / 2) + kWords) {
    const int64_t keys = size == 0 ? 0 : examples.key[examples.end - 1] - first_key + 1;
    const int64_t lines = RoundUp(size, kExamples);
    const int64_t sizes[] = {lines / kExamples * steps * 2 * kTile,
                             RoundUp(keys * image_words, kWords),
                             kExamples * dy_words,
                             RoundUp(kExamples * patch_words, kWords),
                             most_positions * kWords,
                             size * patch_lines * 2 * kWords,
                             2 * 4 * kTile};
    int64_t all = 0;
    for (const int64_t words : sizes) all += words;
    uint32_t* at = memory->Take(all);
    uint32_t** const parts[] = {&slopes, &images, &dy, &patches, &pairs, &sums, &tiles};
    for (int i = 0; i < 7; ++i) *parts[i] = at, at += sizes[i];
  }

  const ConvShape conv;
  const Examples& examples;
  const int64_t size, steps;
  const int64_t first_key, image_words, patch_lines, most_positions, dy_words, patch_words;
  uint32_t* slopes;   // packed
  uint32_t* images;   // [keys, image_words] rounded
  uint32_t* dy;       // [kExamples, dy_words]: [position] of 32 channels
  uint32_t* patches;  // [kExamples, patch_words]: a key's [K + 1, positions], the last row is ones
  uint32_t* pairs;    // [pair of positions, half of the channels] of 16 pairs
  uint32_t* sums;     // [examples, half of the channels, K + 1, 16] fp32
  uint32_t* tiles;    // two times [32, 32] fp32
  // The part of the map that is being computed.
  int64_t block, first_row, rows;

  int64_t positions() const { return rows * conv.map_width(); }
  int64_t padded() const { return RoundUp(positions(), kNumbers); }
  const int32_t* Key(int64_t e) const { return examples.key + examples.begin + e; }

  RUTILE_PACK void RoundImages() const {
    const int64_t image = conv.image_size(), keys = size == 0 ? 0 : *Key(size - 1) - first_key + 1;
    for (int64_t k = 0; k < keys; ++k) {
      RoundRow(examples.images + (first_key + k) * image, image, images + k * image_words);
    }
  }

  // Fills the rows of a key's patches at the current positions. Rows of the map are usually shorter than a vector, so
  // each is copied with the numbers behind it, which the next row overwrites.
  RUTILE_PACK void FillPatches(int64_t key, uint32_t* to) const {
    const int64_t width = conv.map_width(), row_words = padded() / 2;
    const uint16_t* const image = Numbers(images + (key - first_key) * image_words);
    for (int64_t k = 0; k < conv.taps(); ++k, to += row_words) {
      const uint16_t* in = image + (first_row + k / conv.kernel_width) * conv.image_width + k % conv.kernel_width;
      uint16_t* out = Numbers(to);
      for (int64_t y = 0; y < rows; ++y, in += conv.image_width, out += width) {
        for (int64_t x = 0; x < width; x += kNumbers) {
          const int64_t left = Numbers(to) + padded() - (out + x);
          const __mmask32 there = left >= kNumbers ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
          // Only the image's row is read, as there is nothing behind the last one.
          const __mmask32 exist = width - x >= kNumbers ? ~__mmask32{0} : (__mmask32{1} << (width - x)) - 1;
          _mm512_mask_storeu_epi16(out + x, there, _mm512_maskz_loadu_epi16(exist, in + x));
        }
      }
      std::fill(Numbers(to) + positions(), Numbers(to) + padded(), uint16_t{0});
    }
    std::fill_n(Numbers(to), positions(), RoundToBf16(1));
    std::fill(Numbers(to) + positions(), Numbers(to) + padded(), uint16_t{0});
  }

  // Computes dy of the examples from `first` on. `fc` begins at the first position.
  RUTILE_TILES void FillSlopes(int64_t first, const uint32_t* fc) const {
    const int64_t count = std::min(kExamples, size - first), map = conv.map_size();
    const uint32_t* positive[kExamples];
    for (int64_t e = 0; e < count; ++e) {
      positive[e] =
          examples.positive + *Key(first + e) * AmxMapWords(conv) + block * map + first_row * conv.map_width();
    }
    const uint32_t* const left = slopes + first / kExamples * steps * 2 * kTile;
    constexpr int64_t kBytes = 2 * kLineBytes;
    const auto put = [&](int64_t p) RUTILE_PACK {
      const float* from = reinterpret_cast<const float*>(tiles) + p % 2 * 4 * kTile;
      uint32_t* to = dy + p * kWords;
      for (int64_t e = 0; e < count; ++e, from += 2 * kLines, to += dy_words) {
        const __m512bh rounded =
            _mm512_maskz_cvtne2ps_pbh(positive[e][p], _mm512_load_ps(from + kLines), _mm512_load_ps(from));
        _mm512_store_si512(to, (__m512i)rounded);
      }
    };
    for (int64_t p = 0; p < positions(); ++p) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      const uint32_t* a = left;
      for (int64_t s = 0; s < steps; ++s, a += 2 * kTile, fc += 2 * kTile) {
        _tile_loadd(4, a, kLineBytes);
        _tile_loadd(5, a + kTile, kLineBytes);
        _tile_loadd(6, fc, kLineBytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(7, fc + kTile, kLineBytes);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
      }
      // The previous tiles are stored while these are multiplied.
      RUTILE_MEMORY;
      if (p > 0) put(p - 1);
      RUTILE_MEMORY;
      uint32_t* const to = tiles + p % 2 * 4 * kTile;
      _tile_stored(0, to, kBytes);
      _tile_stored(1, to + kLines, kBytes);
      _tile_stored(2, to + 2 * kTile, kBytes);
      _tile_stored(3, to + 2 * kTile + kLines, kBytes);
      RUTILE_MEMORY;
    }
    put(positions() - 1);
    for (int64_t e = 0; e < count && padded() > positions(); ++e) {  // these positions are multiplied by 0
      std::fill_n(dy + e * dy_words + positions() * kWords, (padded() - positions()) * kWords, 0u);
    }
  }

  // Sums the products of an example's dy with the patches over positions. Half h has the channels 8 l + 4 h + i with l,
  // i < 4, because numbers of two positions are interleaved.
  RUTILE_TILES void AddWeightSums(int64_t e, const uint32_t* from, const uint32_t* patch) const {
    for (int64_t p = 0; p < padded(); p += 2) {
      const __m512i a = _mm512_load_si512(from + p * kWords), b = _mm512_load_si512(from + (p + 1) * kWords);
      uint32_t* const to = pairs + p / kNumbers * 2 * kTile + p % kNumbers / 2 * kWords;
      _mm512_store_si512(to, _mm512_unpacklo_epi16(a, b));
      _mm512_store_si512(to + kTile, _mm512_unpackhi_epi16(a, b));
    }
    const int64_t row_bytes = padded() * static_cast<int64_t>(sizeof(uint16_t));
    uint32_t *const first = sums + e * patch_lines * 2 * kWords, *const second = first + patch_lines * kWords;
    RUTILE_MEMORY;
    if (first_row == 0) {
      _tile_zero(0);
      _tile_zero(1);
    } else {
      _tile_loadd(0, first, kLineBytes);
      _tile_loadd(1, second, kLineBytes);
    }
    const uint32_t* right = pairs;
    for (int64_t p = 0; p < padded(); p += kNumbers, right += 2 * kTile) {
      _tile_loadd(4, patch + p / 2, row_bytes);
      _tile_loadd(6, right, kLineBytes);
      _tile_loadd(7, right + kTile, kLineBytes);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, first, kLineBytes);
    _tile_stored(1, second, kLineBytes);
    RUTILE_MEMORY;
  }

  // Adds dy times the weight of the block's channels to the images, two rows of the image and a window of columns at a
  // time.
  RUTILE_TILES void AddImages(int64_t first, const uint32_t* weight, float* d_images) const {
    const int64_t count = std::min(kExamples, size - first), window = Window(conv), map_width = conv.map_width();
    const int64_t bytes = dy_words * static_cast<int64_t>(sizeof(uint32_t)), last_row = first_row + rows;
    const int64_t kernel = conv.kernel_height, end = last_row + kernel - 1;
    constexpr int64_t kBytes = 2 * kLineBytes;
    for (int64_t from = 0; from < map_width; from += window) {
      const int64_t columns = std::min(window, map_width - from);
      for (int64_t r = first_row; r < end; r += 2) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int64_t y = std::max(first_row, r - kernel + 1); y < std::min(last_row, r + 2); ++y) {
          const uint32_t* a = dy + ((y - first_row) * map_width + from) * kWords;
          const int64_t i = r - y;  // row of the kernel, for row r of the image
          for (int64_t x = 0; x < columns; ++x, a += kWords) {
            const uint32_t* const b = weight + (i * window + x) * kParts * kTile;
            const uint32_t* const next = weight + ((i + 1) * window + x) * kParts * kTile;
            _tile_loadd(4, a, bytes);
            _tile_loadd(5, a + kLines * dy_words, bytes);
            for (int64_t part = 0; part < kParts; ++part) {
              if (i >= 0) {
                _tile_loadd(6, b + part * kTile, kLineBytes);
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(2, 5, 6);
              }
              if (i + 1 < kernel) {
                _tile_loadd(7, next + part * kTile, kLineBytes);
                _tile_dpbf16ps(1, 4, 7);
                _tile_dpbf16ps(3, 5, 7);
              }
            }
          }
        }
        _tile_stored(0, tiles, kBytes);
        _tile_stored(1, tiles + kLines, kBytes);
        _tile_stored(2, tiles + 2 * kTile, kBytes);
        _tile_stored(3, tiles + 2 * kTile + kLines, kBytes);
        RUTILE_MEMORY;
        const __mmask16 exist = Mask(columns + conv.kernel_width - 1);
        for (int64_t row = r; row < std::min(r + 2, end); ++row) {
          float* to = d_images + first * conv.image_size() + row * conv.image_width + from;
          const float* sum = reinterpret_cast<const float*>(tiles) + (row - r) * kLines;
          for (int64_t e = 0; e < count; ++e, to += conv.image_size(), sum += 2 * kLines) {
            _mm512_mask_storeu_ps(to, exist, _mm512_add_ps(_mm512_maskz_loadu_ps(exist, to), _mm512_load_ps(sum)));
          }
        }
        RUTILE_MEMORY;
      }
    }
  }

  // Writes the sums of the block's channels to the results.
  RUTILE_PACK void PutSums(const Results& results) const {
    const int64_t taps = conv.taps(), channels = std::min(kAmxChannels, conv.channels - block * kAmxChannels);
    const __mmask16 exist = Mask(taps);
    alignas(64) int32_t order[2][16];  // order of channels in the two halves
    for (int c = 0; c < 32; ++c) order[c / 16][c % 16] = c / 4 % 2 * 16 + c / 8 * 4 + c % 4;
    for (int64_t e = 0; e < size; ++e) {
      float* const weight_sums = results.weight_sums + (e * conv.channels + block * kAmxChannels) * taps;
      const uint32_t* const from = sums + e * patch_lines * 2 * kWords;
      for (int h = 0; h < 2; ++h) {
        __m512i x[16];
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) {
          x[k] = _mm512_maskz_loadu_epi32(k < taps ? 0xffff : 0, from + (h * patch_lines + k) * kWords);
        }
        amx::Transpose(x);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
          const int64_t c = i / 4 * 8 + 4 * h + i % 4;
          if (c < channels) _mm512_mask_storeu_epi32(weight_sums + c * taps, exist, x[i]);
        }
      }
      const __m512 a = _mm512_loadu_ps(from + taps * kWords);
      const __m512 b = _mm512_loadu_ps(from + (patch_lines + taps) * kWords);
      float* const to = results.sums + e * conv.channels + block * kAmxChannels;
      for (int h = 0; h < 2; ++h) {
        _mm512_mask_storeu_ps(to + h * 16, Mask(channels - h * 16),
                              _mm512_permutex2var_ps(a, _mm512_load_si512(order[h]), b));
      }
    }
  }
};

AmxConveBackward::AmxConveBackward(const ConvShape& conv, const float* weight, const float* fc, int64_t inputs)
    : conv_(conv), inputs_(inputs), blocks_(CeilDivide(conv.channels, kAmxChannels)), group_rows_(GroupRows(conv)) {
  CHECK(AmxConveFits(conv));
  const int64_t steps = StepsOf(inputs);
  PackFc(conv, fc, inputs, fc_.Take(AmxMapWords(conv) * steps * 2 * kTile));
  PackWeight(conv, weight, weight_.Take(blocks_ * conv.kernel_height * Window(conv) * kParts * kTile));
}

void AmxConveBackward::Run(const Examples& examples, const Results& results, AlignedBuffer<uint32_t>* memory) const {
  Pass pass(*this, examples, memory);
  PackSlopes(examples.slopes + examples.begin * inputs_, pass.size, inputs_, pass.slopes);
  pass.RoundImages();
  std::fill_n(results.d_images, pass.size * conv_.image_size(), 0.0f);
  amx::TileConfiguration configuration;
  for (pass.block = 0; pass.block < blocks_; ++pass.block) {
    const uint32_t* const weight = weight_.data() + pass.block * conv_.kernel_height * Window(conv_) * kParts * kTile;
    for (pass.first_row = 0; pass.first_row < conv_.map_height(); pass.first_row += group_rows_) {
      pass.rows = std::min(group_rows_, conv_.map_height() - pass.first_row);
      const int64_t first_position = pass.block * conv_.map_size() + pass.first_row * conv_.map_width();
      for (int64_t first = 0; first < pass.size; first += kExamples) {
        pass.FillSlopes(first, fc_.data() + first_position * pass.steps * 2 * kTile);
        pass.AddImages(first, weight, results.d_images);
        configuration.Set(pass.patch_lines);
        uint32_t* patch = nullptr;
        for (int64_t e = first; e < std::min(first + kExamples, pass.size); ++e) {
          if (patch == nullptr || *pass.Key(e) != *pass.Key(e - 1)) {
            patch = pass.patches + (e - first) * pass.patch_words;
            pass.FillPatches(*pass.Key(e), patch);
          }
          pass.AddWeightSums(e, pass.dy + (e - first) * pass.dy_words, patch);
        }
        configuration.Set(kLines);
      }
    }
    pass.PutSums(results);
  }
}

#else
AmxConveBackward::AmxConveBackward(const ConvShape& conv, const float*, const float*, int64_t inputs)
    : conv_(conv), inputs_(inputs), blocks_(0), group_rows_(0) {
  CHECK(AmxConveFits(conv));
}
void AmxConveBackward::Run(const Examples&, const Results&, AlignedBuffer<uint32_t>*) const {}
#endif

}  // namespace rutile
