#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kg/f32_products.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/base/simd.h"
#include "lib/kg/dense_products-inl.h"
#include "lib/kg/f32_products.h"
#include "lib/kg/matrix_view.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

void MultiplyF32Dense(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  MultiplyDense<float>(a, b, add, out, stride);
}

bool IsFast() { return HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "lib/base/logging.h"

namespace rutile {

HWY_EXPORT(IsFast);
HWY_EXPORT(MultiplyF32Dense);

bool F32ProductsAreFast() { return HWY_DYNAMIC_DISPATCH(IsFast)(); }

void MultiplyF32(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), 0.0f);
  }
  HWY_DYNAMIC_DISPATCH(MultiplyF32Dense)(a, b, add, out, stride);
}

}  // namespace rutile
#endif  // HWY_ONCE
