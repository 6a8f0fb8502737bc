#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kge/layers/conve/conv_passes.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cstdint>

#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/kge/layers/conve/conv_tiles-inl.h"
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds image[p + k] += sign row_k[p].
template <typename T>
HWY_INLINE void AddPatches(const ConvShape& shape, T sign, const T* rows, int64_t stride, T* image) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, sign);
  for (int64_t i = 0; i < shape.kernel_height; ++i) {
    for (int64_t j = 0; j < shape.kernel_width; ++j, rows += stride) {
      for (int64_t y = 0; y < shape.map_height(); ++y) {
        const T* const in = rows + y * shape.map_width();
        T* const out = image + (y + i) * shape.image_width + j;
        ForVectors<T>(0, shape.map_width(), [&](const auto& part, int64_t x) {
          part.Store(hn::MulAdd(factor, part.Load(in + x), part.Load(out + x)), out + x);
        });
      }
    }
  }
}

template <typename T>
struct ForwardTile {
  const ConvShape& shape;
  const Scratch<T>& scratch;
  const T *weight, *bias, *scales;
  T* maps;

  template <int R>
  HWY_INLINE void Run(int64_t c) const {
    const int64_t lanes = hn::Lanes(hn::ScalableTag<T>()), positions = shape.map_size();
    int64_t p = 0;
    for (; p + kVecs * lanes <= positions; p += kVecs * lanes) At<R, kVecs>(c, p, WholeVector());
    for (; p + lanes <= positions; p += lanes) At<R, 1>(c, p, WholeVector());
    if (p < positions) At<R, 1>(c, p, PartOfVector{static_cast<int>(positions - p)});
  }

  template <int R, int V, class Part>
  HWY_INLINE void At(int64_t c, int64_t p, const Part& part) const {
    const hn::ScalableTag<T> d;
    const int64_t lanes = hn::Lanes(d);
    VecOf<T> acc[R][V];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) acc[r][v] = hn::Set(d, bias[c + r]);
    }
    AddProduct<R, V>(weight + c * shape.taps(), shape.taps(), 1, shape.taps(), scratch.patches + p, scratch.stride,
                     acc);
    const auto zero = hn::Zero(d);
    for (int r = 0; r < R; ++r) {
      const auto scale = hn::Set(d, scales == nullptr ? T(1) : scales[c + r]);
      for (int v = 0; v < V; ++v) {
        // This is not Max, which may lose a NaN.
        const auto positive = hn::IfThenElse(hn::Lt(acc[r][v], zero), zero, acc[r][v]);
        part.Store(hn::Mul(positive, scale), maps + (c + r) * shape.map_size() + p + v * lanes);
      }
    }
  }
};

template <typename T>
void Forward(const ConvShape& shape, int64_t examples, const T* images, const T* weight, const T* bias, const T* scales,
             T* memory, T* maps) {
  const Scratch<T> scratch(shape, memory);
  for (int64_t e = 0; e < examples; ++e) {
    FillPatches(shape, images + e * shape.image_size(), T(0), scratch);
    const T* const scale = scales == nullptr ? nullptr : scales + e * shape.channels;
    ForRows<kRows>(shape.channels,
                   ForwardTile<T>{shape, scratch, weight, bias, scale, maps + e * shape.channels * shape.map_size()});
  }
}

// Adds, lane by lane, products of rows with the patches over positions: out[r, k] [lanes] is added to.
template <typename T>
struct SumTile {
  const Scratch<T>& scratch;
  int64_t taps, positions, out_stride;
  const T* rows;
  T* out;

  template <int R>
  HWY_INLINE void Run(int64_t c) const {
    int64_t k = 0;
    for (; k + kTaps <= taps; k += kTaps) At<R, kTaps>(c, k);
    for (; k < taps; ++k) At<R, 1>(c, k);
  }

  template <int R, int K>
  HWY_INLINE void At(int64_t c, int64_t first) const {
    const hn::ScalableTag<T> d;
    const int64_t lanes = hn::Lanes(d);
    T* const sums = out + (c * out_stride + first) * MaxLanes<T>();
    VecOf<T> acc[R][K];
    for (int r = 0; r < R; ++r) {
      for (int k = 0; k < K; ++k) acc[r][k] = hn::Load(d, sums + (r * out_stride + k) * MaxLanes<T>());
    }
    for (int64_t p = 0; p < positions; p += lanes) {
      VecOf<T> x[K];
      for (int k = 0; k < K; ++k) x[k] = hn::Load(d, scratch.patches + (first + k) * scratch.stride + p);
      for (int r = 0; r < R; ++r) {
        const auto y = hn::Load(d, rows + (c + r) * scratch.stride + p);
        for (int k = 0; k < K; ++k) acc[r][k] = hn::MulAdd(y, x[k], acc[r][k]);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int k = 0; k < K; ++k) hn::Store(acc[r][k], d, sums + (r * out_stride + k) * MaxLanes<T>());
    }
  }
};

template <typename T>
void Moments(const ConvShape& shape, int64_t examples, const T* images, T origin, T* memory, double* sums,
             double* products) {
  const hn::ScalableTag<T> d;
  const Scratch<T> scratch(shape, memory);
  const int64_t taps = shape.taps(), positions = shape.map_size();
  std::fill(sums, sums + taps, 0);
  std::fill(products, products + taps * taps, 0);
  for (int64_t e = 0; e < examples; ++e) {
    FillPatches(shape, images + e * shape.image_size(), origin, scratch);
    // Sums of several examples are added in fp64.
    for (int64_t k = 0; k < taps; ++k) {
      const T* const row = scratch.patches + k * scratch.stride;
      auto sum = hn::Zero(d);
      for (int64_t p = 0; p < positions; p += hn::Lanes(d)) sum = hn::Add(sum, hn::Load(d, row + p));
      sums[k] += static_cast<double>(SumOf<T>(sum));
      for (int64_t l = 0; l <= k; l += kTaps) {
        const int64_t here = std::min<int64_t>(kTaps, k + 1 - l);
        VecOf<T> acc[kTaps];
        for (int i = 0; i < kTaps; ++i) acc[i] = hn::Zero(d);
        for (int64_t p = 0; p < positions; p += hn::Lanes(d)) {
          const auto x = hn::Load(d, row + p);
          for (int i = 0; i < kTaps; ++i) {
            const int64_t other = std::min<int64_t>(l + i, k);
            acc[i] = hn::MulAdd(x, hn::Load(d, scratch.patches + other * scratch.stride + p), acc[i]);
          }
        }
        for (int64_t i = 0; i < here; ++i) products[k * taps + l + i] += static_cast<double>(SumOf<T>(acc[i]));
      }
    }
  }
  for (int64_t k = 0; k < taps; ++k) {
    for (int64_t l = 0; l < k; ++l) products[l * taps + k] = products[k * taps + l];
  }
}

// Computes one example's dy in scratch memory, and adds its sums to the lanes after those of the taps.
template <typename T>
HWY_INLINE void FillGradients(const ConvShape& shape, const T* scales, const T* maps, const T* d_maps,
                              const Scratch<T>& scratch) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  const int64_t positions = shape.map_size();
  for (int64_t c = 0; c < shape.channels; ++c) {
    const auto scale = hn::Set(d, scales == nullptr ? T(1) : scales[c]);
    T* const row = scratch.dy + c * scratch.stride;
    T* const sums = scratch.lane_sums + (c * (shape.taps() + 1) + shape.taps()) * MaxLanes<T>();
    auto sum = hn::Load(d, sums);
    ForVectors<T>(0, positions, [&](const auto& part, int64_t p) {
      const auto on = hn::Gt(part.Load(maps + c * positions + p), zero);
      const auto dy = hn::IfThenElseZero(on, hn::Mul(scale, part.Load(d_maps + c * positions + p)));
      hn::StoreU(dy, d, row + p);  // zeros after the last
      sum = hn::Add(sum, dy);
    });
    hn::Store(sum, d, sums);
  }
}

template <typename T>
void Backward(const ConvShape& shape, int64_t examples, const T* images, const T* weight, const T* scales,
              const T* maps, const T* d_maps, T* memory, T* weight_sums, T* sums, T* d_images) {
  const hn::ScalableTag<T> d;
  const Scratch<T> scratch(shape, memory);
  const int64_t taps = shape.taps(), channels = shape.channels, positions = shape.map_size();
  std::fill(scratch.lane_sums, scratch.lane_sums + channels * (taps + 1) * MaxLanes<T>(), T(0));
  for (int64_t e = 0; e < examples; ++e) {
    FillPatches(shape, images + e * shape.image_size(), T(0), scratch);
    FillGradients(shape, scales == nullptr ? nullptr : scales + e * channels, maps + e * channels * positions,
                  d_maps + e * channels * positions, scratch);
    ForRows<kRows>(channels, SumTile<T>{scratch, taps, positions, taps + 1, scratch.dy, scratch.lane_sums});
    ForRows<kTaps>(taps, PatchTile<T>{scratch, positions, channels, 1, taps, weight, nullptr, scratch.dy});
    T* const d_image = d_images + e * shape.image_size();
    std::fill(d_image, d_image + shape.image_size(), T(0));
    AddPatches(shape, T(1), scratch.d_patches, scratch.stride, d_image);
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T* const lanes = scratch.lane_sums + c * (taps + 1) * MaxLanes<T>();
    for (int64_t k = 0; k < taps; ++k) {
      weight_sums[c * taps + k] = SumOf<T>(hn::Load(d, lanes + k * MaxLanes<T>()));
    }
    sums[c] = SumOf<T>(hn::Load(d, lanes + taps * MaxLanes<T>()));
  }
}

template <typename T>
void Correct(const ConvShape& shape, int64_t examples, const T* images, const T* matrix, const T* constant, T* memory,
             T* d_images) {
  const Scratch<T> scratch(shape, memory);
  const int64_t taps = shape.taps();
  for (int64_t e = 0; e < examples; ++e) {
    FillPatches(shape, images + e * shape.image_size(), T(0), scratch);
    ForRows<kTaps>(taps, PatchTile<T>{scratch, shape.map_size(), taps, taps, 1, matrix, constant, scratch.patches});
    AddPatches(shape, T(-1), scratch.d_patches, scratch.stride, d_images + e * shape.image_size());
  }
}

void MomentsF32(const ConvShape& shape, int64_t examples, const float* images, float origin, float* scratch,
                double* sums, double* products) {
  Moments(shape, examples, images, origin, scratch, sums, products);
}
void MomentsF64(const ConvShape& shape, int64_t examples, const double* images, double origin, double* scratch,
                double* sums, double* products) {
  Moments(shape, examples, images, origin, scratch, sums, products);
}
void ForwardF32(const ConvShape& shape, int64_t examples, const float* images, const float* weight, const float* bias,
                const float* scales, float* scratch, float* maps) {
  Forward(shape, examples, images, weight, bias, scales, scratch, maps);
}
void ForwardF64(const ConvShape& shape, int64_t examples, const double* images, const double* weight,
                const double* bias, const double* scales, double* scratch, double* maps) {
  Forward(shape, examples, images, weight, bias, scales, scratch, maps);
}
void BackwardF32(const ConvShape& shape, int64_t examples, const float* images, const float* weight,
                 const float* scales, const float* maps, const float* d_maps, float* scratch, float* weight_sums,
                 float* sums, float* d_images) {
  Backward(shape, examples, images, weight, scales, maps, d_maps, scratch, weight_sums, sums, d_images);
}
void BackwardF64(const ConvShape& shape, int64_t examples, const double* images, const double* weight,
                 const double* scales, const double* maps, const double* d_maps, double* scratch, double* weight_sums,
                 double* sums, double* d_images) {
  Backward(shape, examples, images, weight, scales, maps, d_maps, scratch, weight_sums, sums, d_images);
}
void CorrectF32(const ConvShape& shape, int64_t examples, const float* images, const float* matrix,
                const float* constant, float* scratch, float* d_images) {
  Correct(shape, examples, images, matrix, constant, scratch, d_images);
}
void CorrectF64(const ConvShape& shape, int64_t examples, const double* images, const double* matrix,
                const double* constant, double* scratch, double* d_images) {
  Correct(shape, examples, images, matrix, constant, scratch, d_images);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(MomentsF32);
HWY_EXPORT(MomentsF64);
HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);
HWY_EXPORT(CorrectF32);
HWY_EXPORT(CorrectF64);

int64_t ConvScratchSize(const ConvShape& shape) {
  constexpr int64_t kLanes = 16;  // the most numbers in a vector
  const int64_t stride = RoundUp(shape.map_size(), kLanes) + kLanes;
  return (2 * shape.taps() + shape.channels) * stride + shape.channels * (shape.taps() + 1) * kLanes +
         shape.image_size() + 2 * kLanes;
}

template <>
void PatchMoments(const ConvShape& shape, int64_t examples, const float* images, float origin, float* scratch,
                  double* sums, double* products) {
  HWY_DYNAMIC_DISPATCH(MomentsF32)(shape, examples, images, origin, scratch, sums, products);
}
template <>
void PatchMoments(const ConvShape& shape, int64_t examples, const double* images, double origin, double* scratch,
                  double* sums, double* products) {
  HWY_DYNAMIC_DISPATCH(MomentsF64)(shape, examples, images, origin, scratch, sums, products);
}

template <>
void ConvForward(const ConvShape& shape, int64_t examples, const float* images, const float* weight, const float* bias,
                 const float* scales, float* scratch, float* maps) {
  HWY_DYNAMIC_DISPATCH(ForwardF32)(shape, examples, images, weight, bias, scales, scratch, maps);
}
template <>
void ConvForward(const ConvShape& shape, int64_t examples, const double* images, const double* weight,
                 const double* bias, const double* scales, double* scratch, double* maps) {
  HWY_DYNAMIC_DISPATCH(ForwardF64)(shape, examples, images, weight, bias, scales, scratch, maps);
}

template <>
void ConvBackward(const ConvShape& shape, int64_t examples, const float* images, const float* weight,
                  const float* scales, const float* maps, const float* d_maps, float* scratch, float* weight_sums,
                  float* sums, float* d_images) {
  HWY_DYNAMIC_DISPATCH(BackwardF32)
  (shape, examples, images, weight, scales, maps, d_maps, scratch, weight_sums, sums, d_images);
}
template <>
void ConvBackward(const ConvShape& shape, int64_t examples, const double* images, const double* weight,
                  const double* scales, const double* maps, const double* d_maps, double* scratch, double* weight_sums,
                  double* sums, double* d_images) {
  HWY_DYNAMIC_DISPATCH(BackwardF64)
  (shape, examples, images, weight, scales, maps, d_maps, scratch, weight_sums, sums, d_images);
}

template <>
void NormCorrection(const ConvShape& shape, int64_t examples, const float* images, const float* matrix,
                    const float* constant, float* scratch, float* d_images) {
  HWY_DYNAMIC_DISPATCH(CorrectF32)(shape, examples, images, matrix, constant, scratch, d_images);
}
template <>
void NormCorrection(const ConvShape& shape, int64_t examples, const double* images, const double* matrix,
                    const double* constant, double* scratch, double* d_images) {
  HWY_DYNAMIC_DISPATCH(CorrectF64)(shape, examples, images, matrix, constant, scratch, d_images);
}

}  // namespace rutile
#endif  // HWY_ONCE
