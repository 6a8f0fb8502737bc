// Computes activation functions and their derivatives for one SIMD vector of neurons at a time. Highway compiles this
// file once for each instruction set.

// Read again for each target.
#if defined(RUTILE_LIB_NETWORK_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_NETWORK_KERNELS_ACTIVATION_INL_H_
#undef RUTILE_LIB_NETWORK_KERNELS_ACTIVATION_INL_H_
#else
#define RUTILE_LIB_NETWORK_KERNELS_ACTIVATION_INL_H_
#endif

#include "lib/machine/simd.h"
#include "lib/network/kernels/tanh-inl.h"
#include "lib/network/network_shape.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The slope of an activation as a polynomial of its value: f' = c0 + c1 y + c2 y^2, so that f'' = (c1 + 2 c2 y) f'.
struct SlopePolynomial {
  double c0, c1, c2;
};

constexpr double kMtanhScale = 1.7159;

inline SlopePolynomial SlopeOf(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return {1, 0, -1};
    case Activation::kSigmoid:
      return {0, 1, -1};
    case Activation::kMtanh:
      return {kMtanhScale * 2 / 3, 0, -2 / (3 * kMtanhScale)};
    default:
      return {1, 0, 0};
  }
}

// Stores *y = f(z). Where f' is no function of the value y (twist, silu), also stores f' to *slope and, unless
// `curvature` is null, f'' to *curvature. All pointers are aligned, and y may be the memory that z was loaded from.
template <class D, class V, typename T>
HWY_INLINE void ActivateVector(D d, Activation activation, V z, T* y, T* slope, T* curvature) {
  const auto one = hn::Set(d, T(1)), half = hn::Set(d, T(0.5)), two = hn::Set(d, T(2));
  const auto scale = hn::Set(d, T(kMtanhScale)), two_thirds = hn::Set(d, T(2.0 / 3)), tenth = hn::Set(d, T(0.1));
  const auto four_thirds = hn::Set(d, T(4.0 / 3));
  switch (activation) {
    case Activation::kLinear:
      hn::Store(z, d, y);
      break;
    case Activation::kTanh:
      hn::Store(FastTanh(d, z), d, y);
      break;
    case Activation::kSigmoid:
      hn::Store(hn::MulAdd(half, FastTanh(d, hn::Mul(half, z)), half), d, y);
      break;
    case Activation::kMtanh:
      hn::Store(hn::Mul(scale, FastTanh(d, hn::Mul(two_thirds, z))), d, y);
      break;
    case Activation::kTwist: {
      const auto t = FastTanh(d, hn::Mul(two_thirds, z));
      hn::Store(hn::MulAdd(scale, t, hn::Mul(tenth, z)), d, y);
      const auto steep = hn::Mul(scale, two_thirds), rest = hn::NegMulAdd(t, t, one);  // mtanh' = steep * rest
      hn::Store(hn::MulAdd(steep, rest, tenth), d, slope);
      if (curvature) hn::Store(hn::Mul(hn::Mul(four_thirds, t), hn::Neg(hn::Mul(steep, rest))), d, curvature);
      break;
    }
    case Activation::kSilu: {
      const auto s = hn::MulAdd(half, FastTanh(d, hn::Mul(half, z)), half);
      hn::Store(hn::Mul(z, s), d, y);
      hn::Store(hn::MulAdd(hn::Mul(z, s), hn::Sub(one, s), s), d, slope);
      if (curvature) {  // s (1 - s) (2 + z (1 - 2 s))
        const auto factor = hn::MulAdd(z, hn::NegMulAdd(two, s, one), two);
        hn::Store(hn::Mul(hn::Mul(s, hn::Sub(one, s)), factor), d, curvature);
      }
      break;
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
