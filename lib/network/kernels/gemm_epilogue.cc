#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/network/kernels/gemm_epilogue.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"
#include "lib/network/kernels/activation-inl.h"
#include "lib/network/kernels/gemm_epilogue.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reads f' and f'' u at offset `at` of a layer's matrices, or computes them from the values.
template <typename T>
struct SlopesAt {
  explicit HWY_INLINE SlopesAt(const GemmEpilogue<T>& rows) : rows(rows) {
    const hn::ScalableTag<T> d;
    const SlopePolynomial p = SlopeOf(rows.activation);
    c0 = hn::Set(d, T(p.c0)), c1 = hn::Set(d, T(p.c1)), c2 = hn::Set(d, T(p.c2));
  }
  HWY_INLINE VecOf<T> Slope(int64_t at) const {
    const hn::ScalableTag<T> d;
    if (rows.slopes != nullptr) return hn::Load(d, rows.slopes + at);
    const auto y = hn::Load(d, rows.values + at);
    return hn::MulAdd(hn::MulAdd(c2, y, c1), y, c0);
  }
  // By the polynomial, f'' u = (c1 + 2 c2 y) f' u = (c1 + 2 c2 y) d.
  HWY_INLINE VecOf<T> Curvature(int64_t at) const {
    const hn::ScalableTag<T> d;
    if (rows.curvatures != nullptr) return hn::Load(d, rows.curvatures + at);
    const auto y = hn::Load(d, rows.values + at);
    return hn::Mul(hn::MulAdd(hn::Add(c2, c2), y, c1), hn::Load(d, rows.deltas + at));
  }

  const GemmEpilogue<T>& rows;
  VecOf<T> c0, c1, c2;
};

// Calls body(offset) for each vector of a layer's matrices.
template <typename T, class Body>
HWY_INLINE void ForLayer(const GemmEpilogue<T>& layer, const Body& body) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const int64_t end = layer.rows * layer.stride;
  for (int64_t at = 0; at < end; at += lanes) body(at);
}

template <typename T>
HWY_INLINE void Activate(const GemmEpilogue<T>& layer, const T* bias) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < layer.rows; ++r) {
    ForVectors<T>(0, layer.width, [&](const auto& part, int64_t i) {
      const int64_t at = r * layer.stride + i;
      const auto z = hn::Add(hn::Load(d, layer.values + at), part.Load(bias + i));
      ActivateVector(d, layer.activation, z, layer.values + at, layer.slopes == nullptr ? nullptr : layer.slopes + at,
                     layer.curvatures == nullptr ? nullptr : layer.curvatures + at);
    });
  }
}

template <typename T>
HWY_INLINE void ToDeltas(const GemmEpilogue<T>& layer, const SlopesAt<T>& slopes, VecOf<T> u, int64_t at) {
  const hn::ScalableTag<T> d;
  hn::Store(hn::Mul(u, slopes.Slope(at)), d, layer.deltas + at);
  if (layer.curvatures) hn::Store(hn::Mul(u, hn::Load(d, layer.curvatures + at)), d, layer.curvatures + at);
}

template <typename T>
HWY_INLINE void Deltas(const GemmEpilogue<T>& layer) {
  const SlopesAt<T> slopes(layer);
  ForLayer(layer, [&](int64_t at) { ToDeltas(layer, slopes, hn::Load(hn::ScalableTag<T>(), layer.deltas + at), at); });
}

template <typename T>
HWY_INLINE void OutputDeltas(const GemmEpilogue<T>& layer, const T* scales, const T* weights) {
  const SlopesAt<T> slopes(layer);
  for (int64_t r = 0; r < layer.rows; ++r) {
    const auto scale = hn::Set(hn::ScalableTag<T>(), scales == nullptr ? T(1) : scales[r]);
    ForVectors<T>(0, layer.width, [&](const auto& part, int64_t i) {
      ToDeltas(layer, slopes, hn::Mul(scale, part.Load(weights + i)), r * layer.stride + i);
    });
  }
}

template <typename T>
HWY_INLINE void Tangents(const GemmEpilogue<T>& layer, T* tangent, T* mu) {
  const hn::ScalableTag<T> d;
  const SlopesAt<T> slopes(layer);
  ForLayer(layer, [&](int64_t at) {
    const auto adot = hn::Load(d, tangent + at);
    hn::Store(hn::Mul(adot, slopes.Curvature(at)), d, mu + at);
    hn::Store(hn::Mul(adot, slopes.Slope(at)), d, tangent + at);
  });
}

template <typename T>
HWY_INLINE void Reversed(const GemmEpilogue<T>& layer, const T* product, T* mu) {
  const hn::ScalableTag<T> d;
  const SlopesAt<T> slopes(layer);
  ForLayer(layer, [&](int64_t at) {
    hn::Store(hn::MulAdd(hn::Load(d, product + at), slopes.Slope(at), hn::Load(d, mu + at)), d, mu + at);
  });
}

template <typename T>
HWY_INLINE void Scaled(const GemmEpilogue<T>& layer, const T* scales, bool add, T* mu) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t r = 0; r < layer.rows; ++r) {
    const auto scale = hn::Set(d, scales[r]);
    for (int64_t at = r * layer.stride; at < (r + 1) * layer.stride; at += lanes) {
      const auto delta = hn::Load(d, layer.deltas + at);
      hn::Store(add ? hn::MulAdd(delta, scale, hn::Load(d, mu + at)) : hn::Mul(delta, scale), d, mu + at);
    }
  }
}

// Sums the columns of a strip of four vectors; the sums stay in registers.
template <typename T>
HWY_INLINE void ColumnSums(const T* from, int64_t rows, int64_t width, int64_t stride, const T* scales, T* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  const auto scale_of = [&](int64_t r) { return hn::Set(d, scales == nullptr ? T(1) : scales[r]); };
  int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t r = 0; r < rows; ++r) {
      const T* const at = from + r * stride + i;
      const auto scale = scale_of(r);
      s0 = hn::MulAdd(scale, hn::Load(d, at), s0);
      s1 = hn::MulAdd(scale, hn::Load(d, at + lanes), s1);
      s2 = hn::MulAdd(scale, hn::Load(d, at + 2 * lanes), s2);
      s3 = hn::MulAdd(scale, hn::Load(d, at + 3 * lanes), s3);
    }
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), s0), d, out + i);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i + lanes), s1), d, out + i + lanes);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i + 2 * lanes), s2), d, out + i + 2 * lanes);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i + 3 * lanes), s3), d, out + i + 3 * lanes);
  }
  ForVectors<T>(i, width, [&](const auto& part, int64_t c) {
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) sum = hn::MulAdd(scale_of(r), part.Load(from + r * stride + c), sum);
    part.Store(hn::Add(part.Load(out + c), sum), out + c);
  });
}

template <typename T>
HWY_INLINE void Dots(const T* from, int64_t rows, int64_t width, int64_t stride, const T* weights, T bias, T* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t r = 0; r < rows; ++r, from += stride) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    int64_t i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      even = hn::MulAdd(hn::Load(d, from + i), hn::LoadU(d, weights + i), even);
      odd = hn::MulAdd(hn::Load(d, from + i + lanes), hn::LoadU(d, weights + i + lanes), odd);
    }
    ForVectors<T>(i, width, [&](const auto& part, int64_t c) {
      even = hn::MulAdd(part.Load(from + c), part.Load(weights + c), even);
    });
    out[r] = SumOf<T>(hn::Add(even, odd)) + bias;
  }
}

void ActivateF32(const GemmEpilogue<float>& layer, const float* bias) { Activate(layer, bias); }
void ActivateF64(const GemmEpilogue<double>& layer, const double* bias) { Activate(layer, bias); }
void DeltasF32(const GemmEpilogue<float>& layer) { Deltas(layer); }
void DeltasF64(const GemmEpilogue<double>& layer) { Deltas(layer); }
void OutputDeltasF32(const GemmEpilogue<float>& layer, const float* scales, const float* weights) {
  OutputDeltas(layer, scales, weights);
}
void OutputDeltasF64(const GemmEpilogue<double>& layer, const double* scales, const double* weights) {
  OutputDeltas(layer, scales, weights);
}
void TangentsF32(const GemmEpilogue<float>& layer, float* tangent, float* mu) { Tangents(layer, tangent, mu); }
void TangentsF64(const GemmEpilogue<double>& layer, double* tangent, double* mu) { Tangents(layer, tangent, mu); }
void ReversedF32(const GemmEpilogue<float>& layer, const float* product, float* mu) { Reversed(layer, product, mu); }
void ReversedF64(const GemmEpilogue<double>& layer, const double* product, double* mu) { Reversed(layer, product, mu); }
void ScaledF32(const GemmEpilogue<float>& layer, const float* scales, bool add, float* mu) {
  Scaled(layer, scales, add, mu);
}
void ScaledF64(const GemmEpilogue<double>& layer, const double* scales, bool add, double* mu) {
  Scaled(layer, scales, add, mu);
}
void ColumnSumsF32(const float* from, int64_t rows, int64_t width, int64_t stride, const float* scales, float* out) {
  ColumnSums(from, rows, width, stride, scales, out);
}
void ColumnSumsF64(const double* from, int64_t rows, int64_t width, int64_t stride, const double* scales, double* out) {
  ColumnSums(from, rows, width, stride, scales, out);
}
void DotsF32(const float* from, int64_t rows, int64_t width, int64_t stride, const float* weights, float bias,
             float* out) {
  Dots(from, rows, width, stride, weights, bias, out);
}
void DotsF64(const double* from, int64_t rows, int64_t width, int64_t stride, const double* weights, double bias,
             double* out) {
  Dots(from, rows, width, stride, weights, bias, out);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <type_traits>

namespace rutile {
namespace {

HWY_EXPORT(ActivateF32);
HWY_EXPORT(ActivateF64);
HWY_EXPORT(DeltasF32);
HWY_EXPORT(DeltasF64);
HWY_EXPORT(OutputDeltasF32);
HWY_EXPORT(OutputDeltasF64);
HWY_EXPORT(TangentsF32);
HWY_EXPORT(TangentsF64);
HWY_EXPORT(ReversedF32);
HWY_EXPORT(ReversedF64);
HWY_EXPORT(ScaledF32);
HWY_EXPORT(ScaledF64);
HWY_EXPORT(ColumnSumsF32);
HWY_EXPORT(ColumnSumsF64);
HWY_EXPORT(DotsF32);
HWY_EXPORT(DotsF64);

// Calls the best version of a function that this machine supports, for T.
#define RUTILE_CHOOSE(Function, ...)                  \
  if constexpr (std::is_same_v<T, float>) {           \
    HWY_DYNAMIC_DISPATCH(Function##F32)(__VA_ARGS__); \
  } else {                                            \
    HWY_DYNAMIC_DISPATCH(Function##F64)(__VA_ARGS__); \
  }

}  // namespace

template <typename T>
void ActivateLayer(const GemmEpilogue<T>& layer, const T* bias) {
  RUTILE_CHOOSE(Activate, layer, bias);
}
template <typename T>
void SlopesToDeltas(const GemmEpilogue<T>& layer) {
  RUTILE_CHOOSE(Deltas, layer);
}
template <typename T>
void OutputSlopesToDeltas(const GemmEpilogue<T>& layer, const T* scales, const T* weights) {
  RUTILE_CHOOSE(OutputDeltas, layer, scales, weights);
}
template <typename T>
void TangentsOfLayer(const GemmEpilogue<T>& layer, T* tangent, T* mu) {
  RUTILE_CHOOSE(Tangents, layer, tangent, mu);
}
template <typename T>
void AddReversed(const GemmEpilogue<T>& layer, const T* product, T* mu) {
  RUTILE_CHOOSE(Reversed, layer, product, mu);
}
template <typename T>
void ScaledDeltas(const GemmEpilogue<T>& layer, const T* scales, bool add, T* mu) {
  RUTILE_CHOOSE(Scaled, layer, scales, add, mu);
}
template <typename T>
void AddColumnSums(const T* from, int64_t rows, int64_t width, int64_t stride, const T* scales, T* out) {
  RUTILE_CHOOSE(ColumnSums, from, rows, width, stride, scales, out);
}
template <typename T>
void RowDots(const T* from, int64_t rows, int64_t width, int64_t stride, const T* weights, T bias, T* out) {
  RUTILE_CHOOSE(Dots, from, rows, width, stride, weights, bias, out);
}

#define RUTILE_FOR_TYPE(T)                                                        \
  template void ActivateLayer(const GemmEpilogue<T>&, const T*);                  \
  template void SlopesToDeltas(const GemmEpilogue<T>&);                           \
  template void OutputSlopesToDeltas(const GemmEpilogue<T>&, const T*, const T*); \
  template void TangentsOfLayer(const GemmEpilogue<T>&, T*, T*);                  \
  template void AddReversed(const GemmEpilogue<T>&, const T*, T*);                \
  template void ScaledDeltas(const GemmEpilogue<T>&, const T*, bool, T*);         \
  template void AddColumnSums(const T*, int64_t, int64_t, int64_t, const T*, T*); \
  template void RowDots(const T*, int64_t, int64_t, int64_t, const T*, T, T*)
RUTILE_FOR_TYPE(float);
RUTILE_FOR_TYPE(double);

}  // namespace rutile
#endif  // HWY_ONCE
