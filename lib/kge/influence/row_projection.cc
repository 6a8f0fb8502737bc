#include "lib/kge/influence/row_projection.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/sparse_products.h"

namespace rutile {
namespace {

// Rows that a thread computes at a time.
constexpr int64_t kPiece = 16;

template <typename T>
void AddSigned(const T* sign, const T* row, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] += sign[i] * row[i];
}

}  // namespace

template <typename T>
RowProjection<T>::RowProjection(const ProjectionOptions& options, int64_t n, absl::string_view purpose)
    : n_(n), dim_(options.dim), width_(options.dim) {
  CHECK(options.kind != ProjectionKind::kNone);
  CHECK_GE(dim_, 1);
  if (options.kind == ProjectionKind::kSparse) {
    RandomStream stream(options.seed, purpose);
    for (int64_t first = 0; first < n; first += dim_) shift_.push_back(static_cast<int64_t>(stream.Below(dim_)));
    for (int64_t i = 0; i < n; ++i) sign_.push_back(stream.Next() >> 63 != 0 ? T(1) : T(-1));
    return;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(dim_));
  std::vector<T> columns(dim_ * n);
  for (int64_t d = 0; d < dim_; ++d) {
    RandomStream stream(options.seed, purpose, 0, d);
    for (int64_t i = 0; i < n; ++i) {
      const double random = options.kind == ProjectionKind::kGaussian ? stream.Normal()
                            : stream.Next() >> 63 != 0                ? 1.0
                                                                      : -1.0;
      columns[d * n + i] = static_cast<T>(scale * random);
    }
  }
  width_ = SparseColumns<T>(dim_);
  dense_.resize(SparseTilesSize<T>(dim_, n));
  PackSparseTiles<T>(columns.data(), dim_, n, n, dense_.data());
}

template <typename T>
void RowProjection<T>::AddUp(const T* row, T* out) const {
  std::fill_n(out, dim_, T(0));
  for (size_t s = 0; s < shift_.size(); ++s) {
    const int64_t first = static_cast<int64_t>(s) * dim_, count = std::min(dim_, n_ - first);
    const int64_t before = std::min(count, dim_ - shift_[s]);  // the other rows start again at column 0
    AddSigned(&sign_[first], row + first, before, out + shift_[s]);
    AddSigned(&sign_[first] + before, row + first + before, count - before, out);
  }
}

template <typename T>
void RowProjection<T>::Apply(const T* a, int64_t rows, ThreadPool* pool, T* out) const {
  ForPieces(pool, rows, kPiece, [&](int64_t begin, int64_t end, int) {
    if (!dense_.empty()) {
      return MultiplySparse<T>(a + begin * n_, end - begin, n_, n_, dense_.data(), dim_, out + begin * width_);
    }
    for (int64_t r = begin; r < end; ++r) AddUp(a + r * n_, out + r * width_);
  });
}

template class RowProjection<float>;
template class RowProjection<double>;

}  // namespace rutile
