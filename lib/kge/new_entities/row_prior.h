// What rows of entities look like: a normal distribution fitted to the rows that a model has, with their biases.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_ROW_PRIOR_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_ROW_PRIOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The distribution of y = [row, bias], D numbers: d, or d + 1 for models with biases. y = mean + L z, where z is
// standard normal and L L^T is the covariance of the N rows, shrunk toward a multiple of the identity with the same
// trace, so that it is positive definite for any number of rows: (1 - a) C + a tr(C) / D I, a = D / (D + N).
class RowPrior {
 public:
  // parameters: flat, of `shape`. All numbers are computed in fp64, with the same bits for any number of threads.
  // INVALID_ARGUMENT if the covariance has no factor: embeddings so large that squares of them are not finite.
  static absl::StatusOr<RowPrior> Create(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool);

  int64_t size() const { return static_cast<int64_t>(mean_.size()); }  // D
  absl::Span<const double> mean() const { return mean_; }
  // Returns y = mean + L z.
  std::vector<double> FromStandard(absl::Span<const double> z) const;
  // Returns L^T g: the gradient by z of a function whose gradient by y is g.
  std::vector<double> ToStandard(absl::Span<const double> gradient) const;

 private:
  RowPrior() = default;

  std::vector<double> mean_;    // [D]
  std::vector<double> factor_;  // L [D, D]; what is above the diagonal is not read
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_ROW_PRIOR_H_
