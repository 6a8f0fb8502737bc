#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kg/f64_products.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/base/simd.h"
#include "lib/kg/dense_products-inl.h"
#include "lib/kg/f64_products.h"
#include "lib/kg/matrix_view.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

void MultiplyF64Dense(const MatrixView<double>& a, const MatrixView<double>& b, bool add, double* out, int64_t stride) {
  MultiplyDense<double>(a, b, add, out, stride);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "lib/base/logging.h"

namespace rutile {

HWY_EXPORT(MultiplyF64Dense);

void MultiplyF64(const MatrixView<double>& a, const MatrixView<double>& b, bool add, double* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), 0.0);
  }
  HWY_DYNAMIC_DISPATCH(MultiplyF64Dense)(a, b, add, out, stride);
}

}  // namespace rutile
#endif  // HWY_ONCE
