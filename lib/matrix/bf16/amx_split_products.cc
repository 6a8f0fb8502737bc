#include "lib/matrix/bf16/amx_split_products.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/matrix/bf16/amx_split_tiles.h"
#include "lib/matrix/bf16/amx_tiles.h"
#include "lib/matrix/bf16/bf16_machines.h"

namespace rutile {

bool AmxSplitProducts::IsPossible() { return HasBf16Amx(); }

#if defined(__x86_64__)
namespace {

using amx::kLeftWords;
using amx::kLines;
using amx::kNumbers;
using amx::kSteps;
using amx::kWords;
using amx::Right;
using amx::StepsOf;
using amx::TilesOf;

// Number of rows at a time, which with their sums stay in the second-level cache.
constexpr int64_t kRows = 512;

// Packs the steps of the left factor from `first` on.
RUTILE_PACK void PackLeft(const float* a, int64_t rows, int64_t stride, int64_t depth, int64_t first, int64_t steps,
                          uint32_t* left) {
  for (int64_t r = 0; r < rows; ++r, a += stride, left += kLeftWords) {
    for (int64_t s = 0; s < steps; ++s) {
      const int64_t at = (first + s) * kNumbers;
      amx::PutLeft(_mm512_maskz_loadu_ps(amx::Mask(depth - at), a + at),
                   _mm512_maskz_loadu_ps(amx::Mask(depth - at - 16), a + at + 16), left + s * 2 * kWords);
    }
  }
}

}  // namespace

AmxSplitProducts::AmxSplitProducts(const float* b, int64_t n, int64_t depth, int64_t stride) : n_(n), depth_(depth) {
  CHECK(IsPossible());
  const int64_t steps = StepsOf(depth), columns = TilesOf(n);
  const Right right = {b_.Take(Right::Words(columns, 2, steps)), columns, 2, steps};
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t l = 0; l < depth; ++l) right.Put(j, l / kNumbers, l % kNumbers, b[j * stride + l]);
  }
}

void AmxSplitProducts::Add(const float* a, int64_t rows, int64_t a_stride, float* out, int64_t out_stride,
                           AlignedBuffer<uint32_t>* memory) const {
  const int64_t all_steps = StepsOf(depth_), columns = TilesOf(n_), stride = columns * kLines;
  const Right right = {b_.data(), columns, 2, all_steps};
  const int64_t most = RoundUp(std::min(kRows, rows), kLines);
  uint32_t* const left = memory->Take(most * (kLeftWords + stride));
  float* const sums = reinterpret_cast<float*>(left + most * kLeftWords);
  const amx::TileConfiguration configuration;
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t here = std::min(kRows, rows - row), lines = RoundUp(here, kLines);
    std::fill_n(sums, lines * stride, 0.0f);
    for (int64_t first = 0; first < all_steps; first += kSteps) {
      const int64_t steps = std::min(kSteps, all_steps - first);
      PackLeft(a + row * a_stride, here, a_stride, depth_, first, steps, left);
      amx::AddProduct<2>(left, lines, right, first, steps, sums, stride);
    }
    for (int64_t r = 0; r < here; ++r) {
      float* const to = out + (row + r) * out_stride;
      for (int64_t j = 0; j < n_; ++j) to[j] += sums[r * stride + j];
    }
  }
}

#else
AmxSplitProducts::AmxSplitProducts(const float*, int64_t n, int64_t depth, int64_t) : n_(n), depth_(depth) {
  CHECK(IsPossible());
}
void AmxSplitProducts::Add(const float*, int64_t, int64_t, float*, int64_t, AlignedBuffer<uint32_t>*) const {}
#endif

}  // namespace rutile
