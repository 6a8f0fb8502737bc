// Tiles of the passes of conv_passes.h, for kernels that Highway compiles for each instruction set.

// Highway includes this file once for each target.
#if defined(RUTILE_LIB_KGE_LAYERS_CONVE_CONV_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_KGE_LAYERS_CONVE_CONV_TILES_INL_H_
#undef RUTILE_LIB_KGE_LAYERS_CONVE_CONV_TILES_INL_H_
#else
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONV_TILES_INL_H_
#endif

#include <cstdint>

#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors that a product keeps in registers, of which AVX-512 has 32 and other targets 16.
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int kVecs = 2;
// Taps whose rows are computed or summed together; 3 x 3 kernels leave no remainder.
constexpr int kTaps = 3;

// Returns the distance of two rows of patches: whole vectors of any target, and one vector that may be overwritten.
template <typename T>
int64_t PatchStride(const ConvShape& shape) {
  constexpr int64_t kLanes = MaxLanes<T>();
  return RoundUp(shape.map_size(), kLanes) + kLanes;
}

// One example's rows in scratch memory, which fit into the first or second-level cache.
template <typename T>
struct Scratch {
  Scratch(const ConvShape& shape, T* memory) : stride(PatchStride<T>(shape)) {
    patches = memory;
    d_patches = patches + shape.taps() * stride;
    dy = d_patches + shape.taps() * stride;
    lane_sums = dy + shape.channels * stride;
    image = lane_sums + shape.channels * (shape.taps() + 1) * MaxLanes<T>();
  }

  int64_t stride;
  T* patches;    // [K, stride] x_k(p), zeros after P
  T* d_patches;  // [K, stride]
  T* dy;         // [C, stride], zeros after P
  T* lane_sums;  // [C, K + 1, lanes]
  T* image;      // [image_size + lanes]
};

// Copies the image's patches, less `origin`, to scratch.patches. Rows of the map are usually shorter than a vector, so
// each is copied with the numbers behind it, which the next row overwrites.
template <typename T>
HWY_INLINE void FillPatches(const ConvShape& shape, const T* image, T origin, const Scratch<T>& scratch) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d), size = shape.image_size();
  const auto from = hn::Set(d, origin);
  ForVectors<T>(0, size, [&](const auto& part, int64_t i) {
    part.Store(hn::Sub(part.Load(image + i), from), scratch.image + i);
  });
  const int64_t height = shape.map_height(), width = shape.map_width(), positions = shape.map_size();
  for (int64_t i = 0; i < shape.kernel_height; ++i) {
    for (int64_t j = 0; j < shape.kernel_width; ++j) {
      T* const row = scratch.patches + (i * shape.kernel_width + j) * scratch.stride;
      for (int64_t y = 0; y < height; ++y) {
        const T* const in = scratch.image + (y + i) * shape.image_width + j;
        for (int64_t x = 0; x < width; x += lanes) hn::StoreU(hn::LoadU(d, in + x), d, row + y * width + x);
      }
      for (int64_t p = positions; p < scratch.stride; ++p) row[p] = 0;
    }
  }
}

// acc[r][v] += sum over i < depth of w[r * row_step + i * step] in[i * stride + v].
template <int R, int V, typename T>
HWY_INLINE void AddProduct(const T* HWY_RESTRICT w, int64_t row_step, int64_t step, int64_t depth, const T* in,
                           int64_t stride, VecOf<T> (&acc)[R][V]) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t i = 0; i < depth; ++i) {
    VecOf<T> x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(d, in + i * stride + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto weight = hn::Set(d, w[r * row_step + i * step]);
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(weight, x[v], acc[r][v]);
    }
  }
}

// Calls tile.Run<R>(first row) until all `rows` are done, with smaller R for the last ones.
template <int R, class Tile>
HWY_INLINE void ForRows(int64_t rows, const Tile& tile, int64_t r = 0) {
  for (; r + R <= rows; r += R) tile.template Run<R>(r);
  if constexpr (R > 1) {
    if (r < rows) ForRows<R / 2>(rows, tile, r);
  }
}

// Computes d_patches[k] = constant[k] + sum over `depth` rows i of matrix[i * step + k * row_step] rows[i].
template <typename T>
struct PatchTile {
  const Scratch<T>& scratch;
  int64_t positions, depth, row_step, step;
  const T *matrix, *constant, *rows;

  template <int R>
  HWY_INLINE void Run(int64_t k) const {
    const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
    int64_t p = 0;
    for (; p + 2 * kVecs * lanes <= positions; p += 2 * kVecs * lanes) At<R, 2 * kVecs>(k, p);
    // A single vector would wait for the latency of its sums, so the last vectors are computed together.
    const int64_t left = (positions - p + lanes - 1) / lanes;
    if (left == 1) At<R, 1>(k, p);
    if (left == 2) At<R, 2>(k, p);
    if (left == 3) At<R, 3>(k, p);
    if (left == 4) At<R, 4>(k, p);
  }

  template <int R, int V>
  HWY_INLINE void At(int64_t k, int64_t p) const {
    const hn::ScalableTag<T> d;
    VecOf<T> acc[R][V];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) acc[r][v] = hn::Set(d, constant == nullptr ? T(0) : constant[k + r]);
    }
    AddProduct<R, V>(matrix + k * row_step, row_step, step, depth, rows + p, scratch.stride, acc);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        hn::Store(acc[r][v], d, scratch.d_patches + (k + r) * scratch.stride + p + v * hn::Lanes(d));
      }
    }
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
