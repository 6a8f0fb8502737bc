#include "lib/kge/new_entities/row_prior.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"

namespace rutile {
namespace {

constexpr int64_t kBlock = 1024;  // rows in memory at a time

// Writes [row, bias] of entities in [begin, end) less `center`, to out [end - begin, D].
template <typename T>
void CopyRows(const KgeShape& shape, absl::Span<const T> parameters, int64_t begin, int64_t end,
              const std::vector<double>& center, double* out) {
  const KgeShape::Offsets at = shape.offsets();
  const int64_t dim = shape.dim();
  for (int64_t e = begin; e < end; ++e) {
    for (int64_t k = 0; k < dim; ++k) *out++ = static_cast<double>(parameters[at.entity + e * dim + k]) - center[k];
    if (at.entity_bias >= 0) *out++ = static_cast<double>(parameters[at.entity_bias + e]) - center[dim];
  }
}

template <typename T>
void Fit(const KgeShape& shape, absl::Span<const T> parameters, ThreadPool* pool, std::vector<double>* mean,
         std::vector<double>* covariance) {
  const auto size = static_cast<int64_t>(mean->size());
  const int64_t num = shape.num_entities;
  const std::vector<double> zero(size, 0.0);
  std::vector<double> rows(kBlock * size), sum(size, 0.0);
  for (int64_t begin = 0; begin < num; begin += kBlock) {
    const int64_t end = std::min(num, begin + kBlock);
    CopyRows<T>(shape, parameters, begin, end, zero, rows.data());
    for (int64_t i = 0; i < (end - begin) * size; ++i) sum[i % size] += rows[i];
  }
  for (int64_t k = 0; k < size; ++k) (*mean)[k] = sum[k] / static_cast<double>(num);
  MatrixProducts<double> products(FactorRounding::kNone, pool);
  for (int64_t begin = 0; begin < num; begin += kBlock) {
    const int64_t end = std::min(num, begin + kBlock);
    CopyRows<T>(shape, parameters, begin, end, *mean, rows.data());
    const MatrixView<double> block = {rows.data(), end - begin, size, size};
    products.Multiply(block.Transposed(), block, /*add=*/true, covariance->data(), size);
  }
  for (double& x : *covariance) x /= static_cast<double>(num);
}

}  // namespace

absl::StatusOr<RowPrior> RowPrior::Create(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool) {
  RowPrior prior;
  const int64_t n = shape.dim() + (shape.offsets().entity_bias >= 0 ? 1 : 0);
  prior.mean_.assign(n, 0.0);
  prior.factor_.assign(n * n, 0.0);
  std::vector<double>& factor = prior.factor_;
  if (parameters.dtype() == DType::kF64) {
    Fit<double>(shape, parameters.values<double>(), pool, &prior.mean_, &factor);
  } else {
    Fit<float>(shape, parameters.values<float>(), pool, &prior.mean_, &factor);
  }
  double trace = 0;
  for (int64_t k = 0; k < n; ++k) trace += factor[k * n + k];
  const double share = static_cast<double>(n) / static_cast<double>(n + shape.num_entities);
  for (double& x : factor) x *= 1 - share;
  // Rows that are all equal have no spread; a tiny one keeps the factor defined, and the row at the mean.
  const double added = std::max(share * trace / static_cast<double>(n), 1e-20);
  for (int64_t k = 0; k < n; ++k) factor[k * n + k] += added;
  if (!FactorCholesky(n, factor.data(), pool)) {
    return absl::InvalidArgumentError(absl::StrCat("embeddings of entities whose variances add up to ", trace,
                                                   ": new rows cannot be drawn from them; is the model trained?"));
  }
  return prior;
}

std::vector<double> RowPrior::FromStandard(absl::Span<const double> z) const {
  const int64_t n = size();
  std::vector<double> y = mean_;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k <= i; ++k) y[i] += factor_[i * n + k] * z[k];
  }
  return y;
}

std::vector<double> RowPrior::ToStandard(absl::Span<const double> gradient) const {
  const int64_t n = size();
  std::vector<double> result(n, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k <= i; ++k) result[k] += factor_[i * n + k] * gradient[i];
  }
  return result;
}

}  // namespace rutile
