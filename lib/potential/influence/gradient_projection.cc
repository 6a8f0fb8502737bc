#include "lib/potential/influence/gradient_projection.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {
template <typename T>
GradientProjection<T>::GradientProjection(const ProjectionOptions& options, int64_t num_parameters)
    : dim_(options.dim), num_parameters_(num_parameters) {
  constexpr absl::string_view kPurpose = "gradient projection";
  CHECK(options.kind != ProjectionKind::kNone);
  CHECK_GE(dim_, 1);
  if (options.kind == ProjectionKind::kSparse) {
    RandomStream stream(options.seed, kPurpose);
    for (int64_t p = 0; p < num_parameters; ++p) {
      position_.push_back(static_cast<int64_t>(stream.Below(dim_)));
      sign_.push_back(stream.Next() >> 63 != 0 ? T(1) : T(-1));
    }
    return;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(dim_));
  dense_ = PackedRows<T>(dim_, num_parameters);
  std::vector<T> column(num_parameters);
  for (int64_t d = 0; d < dim_; ++d) {
    // one stream per column, so that the first columns do not depend on dim
    RandomStream stream(options.seed, kPurpose, 0, d);
    for (T& value : column) {
      const double random = options.kind == ProjectionKind::kGaussian ? stream.Normal()
                            : stream.Next() >> 63 != 0                ? 1.0
                                                                      : -1.0;
      value = static_cast<T>(scale * random);
    }
    dense_.Set(d, 0, column);
  }
}

template <typename T>
void GradientProjection<T>::Apply(int64_t rows, const T* a, T* out) const {
  if (position_.empty()) {
    std::vector<double> sums(rows * dim_, 0.0);
    AddRowProducts(rows, a, num_parameters_, num_parameters_, dense_, 0, sums.data());
    std::copy(sums.begin(), sums.end(), out);
    return;
  }
  std::fill_n(out, rows * dim_, T(0));
  for (int64_t i = 0; i < rows; ++i, a += num_parameters_, out += dim_) {
    for (int64_t p = 0; p < num_parameters_; ++p) out[position_[p]] += sign_[p] * a[p];
  }
}

template class GradientProjection<float>;
template class GradientProjection<double>;

}  // namespace rutile
