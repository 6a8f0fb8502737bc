#include "lib/kge/layers/conve/conv_example_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kge/layers/conve/conv_example_passes.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <algorithm>

#include "lib/kge/layers/conve/conv_tiles-inl.h"
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Stores the sum of a vector's blocks of 16 bytes.
template <class D, class V>
HWY_INLINE void StoreBlockSum(D d, V v, hn::TFromD<D>* sum) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    StoreBlockSum(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), sum);
  } else {
    hn::StoreU(v, d, sum);
  }
#endif
}

// Computes the sums over the lanes of four vectors together; one by one they would take four times as many
// instructions.
template <typename T>
HWY_INLINE void SumsOfFour(const VecOf<T> (&v)[4], T* sums) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) sums[i] = SumOf<T>(v[i]);
#else
  const hn::ScalableTag<T> d;
  // Adds neighbors of a and of b, interleaving both in each block of 16 bytes.
  const auto pair = [&](const VecOf<T>& a, const VecOf<T>& b) {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  if constexpr (sizeof(T) == sizeof(float)) {
    const hn::Repartition<double, decltype(d)> dd;
    const auto x = hn::BitCast(dd, pair(v[0], v[1])), y = hn::BitCast(dd, pair(v[2], v[3]));
    StoreBlockSum(
        d, hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, x, y)), hn::BitCast(d, hn::InterleaveUpper(dd, x, y))), sums);
  } else {
    StoreBlockSum(d, pair(v[0], v[1]), sums);
    StoreBlockSum(d, pair(v[2], v[3]), sums + 2);
  }
#endif
}

// Sums the products of rows of dy with the patches over positions.
template <typename T>
struct ExampleSumTile {
  const Scratch<T>& scratch;
  int64_t taps, positions;
  T* out;  // [C, K]
  // The next example's numbers, which are not in the cache: each vector prefetches a share of them.
  const T *next_maps, *next_d_maps;

  template <int R>
  HWY_INLINE void Run(int64_t c) const {
    int64_t k = 0;
    for (; k + kTaps <= taps; k += kTaps) At<R, kTaps>(c, k);
    for (; k < taps; ++k) At<R, 1>(c, k);
  }

  template <int R, int K>
  HWY_INLINE void At(int64_t c, int64_t first) const {
    const hn::ScalableTag<T> d;
    constexpr int64_t kLine = 64 / sizeof(T);
    const int64_t lanes = hn::Lanes(d);
    VecOf<T> acc[R][K];
    for (int r = 0; r < R; ++r) {
      for (int k = 0; k < K; ++k) acc[r][k] = hn::Zero(d);
    }
    const int64_t ahead = (c * taps + first * R) * positions / taps;
    for (int64_t p = 0; p < positions; p += lanes) {
      VecOf<T> x[K];
      for (int k = 0; k < K; ++k) x[k] = hn::Load(d, scratch.patches + (first + k) * scratch.stride + p);
      for (int64_t line = 0; line < R * K * lanes / taps; line += kLine) {
        const int64_t at = ahead + p * R * K / taps + line;
        hwy::Prefetch(next_maps + at);
        hwy::Prefetch(next_d_maps + at);
      }
      for (int r = 0; r < R; ++r) {
        const auto y = hn::Load(d, scratch.dy + (c + r) * scratch.stride + p);
        for (int k = 0; k < K; ++k) acc[r][k] = hn::MulAdd(y, x[k], acc[r][k]);
      }
    }
    for (int k = 0; k < K; ++k) {
      for (int r = 0; r < R; r += 4) {
        if constexpr (R % 4 == 0) {
          const VecOf<T> four[4] = {acc[r][k], acc[r + 1][k], acc[r + 2][k], acc[r + 3][k]};
          T sums[4];
          SumsOfFour<T>(four, sums);
          for (int i = 0; i < 4; ++i) out[(c + r + i) * taps + first + k] = sums[i];
        } else {
          for (int i = 0; i < R; ++i) out[(c + i) * taps + first + k] = SumOf<T>(acc[i][k]);
        }
      }
    }
  }
};

// Computes dy and its sums over positions [C].
template <typename T>
HWY_INLINE void FillSlopes(const ConvShape& shape, const T* maps, const T* d_maps, const Scratch<T>& scratch, T* sums) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  const int64_t positions = shape.map_size();
  const auto fill = [&](int64_t c) {
    T* const row = scratch.dy + c * scratch.stride;
    auto sum = zero;
    ForVectors<T>(0, positions, [&](const auto& part, int64_t p) {
      const auto on = hn::Gt(part.Load(maps + c * positions + p), zero);
      const auto dy = hn::IfThenElseZero(on, part.Load(d_maps + c * positions + p));
      hn::StoreU(dy, d, row + p);  // zeros after the last
      sum = hn::Add(sum, dy);
    });
    return sum;
  };
  int64_t c = 0;
  for (; c + 4 <= shape.channels; c += 4) {
    const VecOf<T> four[4] = {fill(c), fill(c + 1), fill(c + 2), fill(c + 3)};
    SumsOfFour<T>(four, sums + c);
  }
  for (; c < shape.channels; ++c) sums[c] = SumOf<T>(fill(c));
}

// Adds image[q] += sum over k of d_patches_k[q - k] for kTaps columns of the kernel from first_j on. It computes a row
// of the image at a time, whose sum stays in registers, since the maps' rows overlap. Numbers beside a row of the map
// are read, within scratch memory, and not used.
template <int J, typename T>
HWY_INLINE void GatherColumns(const ConvShape& shape, const Scratch<T>& scratch, int64_t first_j, T* image) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d), width = shape.map_width();
  for (int64_t first = 0; first < shape.image_width; first += lanes) {
    const int64_t columns = std::min(lanes, shape.image_width - first);
    // These are vectors, since an array of masks would not stay in registers.
    VecOf<T> there[J];
    for (int j = 0; j < J; ++j) {
      const int64_t at = first_j + j - first;
      const int64_t from = std::clamp<int64_t>(at, 0, lanes), to = std::clamp(width + at, from, lanes);
      const auto mask = hn::AndNot(hn::FirstN(d, from), hn::FirstN(d, to));
      there[j] = hn::VecFromMask(d, mask);
    }
    for (int64_t y = 0; y < shape.image_height; ++y) {
      VecOf<T> sums[J];
      for (int j = 0; j < J; ++j) sums[j] = hn::Zero(d);
      const int64_t begin = std::max<int64_t>(0, y - shape.map_height() + 1);
      const int64_t end = std::min(shape.kernel_height, y + 1);
      for (int64_t i = begin; i < end; ++i) {
        const T* const row =
            scratch.d_patches + (i * shape.kernel_width + first_j) * scratch.stride + (y - i) * width + first - first_j;
        for (int j = 0; j < J; ++j) sums[j] = hn::Add(sums[j], hn::LoadU(d, row + j * (scratch.stride - 1)));
      }
      auto sum = hn::And(there[0], sums[0]);
      for (int j = 1; j < J; ++j) sum = hn::Add(sum, hn::And(there[j], sums[j]));
      T* const out = image + y * shape.image_width + first;
      if (columns == lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, out), sum), d, out);
      } else {
        const PartOfVector part = {static_cast<int>(columns)};
        part.Store(hn::Add(part.Load(out), sum), out);
      }
    }
  }
}

template <typename T>
HWY_INLINE void GatherPatches(const ConvShape& shape, const Scratch<T>& scratch, T* image) {
  int64_t j = 0;
  for (; j + kTaps <= shape.kernel_width; j += kTaps) GatherColumns<kTaps>(shape, scratch, j, image);
  for (; j < shape.kernel_width; ++j) GatherColumns<1>(shape, scratch, j, image);
}

template <typename T>
void BackwardEach(const ConvShape& shape, int64_t examples, const int32_t* key, const T* images, const T* weight,
                  const T* maps, int64_t map_stride, const T* d_maps, int64_t d_map_stride, T* memory, T* weight_sums,
                  T* sums, T* d_images) {
  const Scratch<T> scratch(shape, memory);
  const int64_t taps = shape.taps(), channels = shape.channels, positions = shape.map_size();
  for (int64_t e = 0; e < examples; ++e) {
    if (e == 0 || key[e] != key[e - 1]) FillPatches(shape, images + key[e] * shape.image_size(), T(0), scratch);
    FillSlopes(shape, maps + key[e] * map_stride, d_maps + e * d_map_stride, scratch, sums + e * channels);
    const int64_t next = std::min(e + 1, examples - 1);
    ForRows<kRows>(channels, ExampleSumTile<T>{scratch, taps, positions, weight_sums + e * channels * taps,
                                               maps + key[next] * map_stride, d_maps + next * d_map_stride});
    ForRows<kTaps>(taps, PatchTile<T>{scratch, positions, channels, 1, taps, weight, nullptr, scratch.dy});
    GatherPatches(shape, scratch, d_images + e * shape.image_size());
  }
}

void BackwardEachF32(const ConvShape& shape, int64_t examples, const int32_t* key, const float* images,
                     const float* weight, const float* maps, int64_t map_stride, const float* d_maps,
                     int64_t d_map_stride, float* scratch, float* weight_sums, float* sums, float* d_images) {
  BackwardEach(shape, examples, key, images, weight, maps, map_stride, d_maps, d_map_stride, scratch, weight_sums, sums,
               d_images);
}
void BackwardEachF64(const ConvShape& shape, int64_t examples, const int32_t* key, const double* images,
                     const double* weight, const double* maps, int64_t map_stride, const double* d_maps,
                     int64_t d_map_stride, double* scratch, double* weight_sums, double* sums, double* d_images) {
  BackwardEach(shape, examples, key, images, weight, maps, map_stride, d_maps, d_map_stride, scratch, weight_sums, sums,
               d_images);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(BackwardEachF32);
HWY_EXPORT(BackwardEachF64);

template <>
void ConvBackwardEach(const ConvShape& shape, int64_t examples, const int32_t* key, const float* images,
                      const float* weight, const float* maps, int64_t map_stride, const float* d_maps,
                      int64_t d_map_stride, float* scratch, float* weight_sums, float* sums, float* d_images) {
  HWY_DYNAMIC_DISPATCH(BackwardEachF32)
  (shape, examples, key, images, weight, maps, map_stride, d_maps, d_map_stride, scratch, weight_sums, sums, d_images);
}
template <>
void ConvBackwardEach(const ConvShape& shape, int64_t examples, const int32_t* key, const double* images,
                      const double* weight, const double* maps, int64_t map_stride, const double* d_maps,
                      int64_t d_map_stride, double* scratch, double* weight_sums, double* sums, double* d_images) {
  HWY_DYNAMIC_DISPATCH(BackwardEachF64)
  (shape, examples, key, images, weight, maps, map_stride, d_maps, d_map_stride, scratch, weight_sums, sums, d_images);
}

}  // namespace rutile
#endif  // HWY_ONCE
