// Hidden vectors v(x, r) of queries about one entity, as functions of its row x.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_ROW_QUERIES_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_ROW_QUERIES_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The queries of one model, computed in fp64 with running statistics and without dropout.
class RowQueries {
 public:
  virtual ~RowQueries() = default;
  // Computes v [Q, d] of the row x [d] with Q relations.
  virtual void Forward(absl::Span<const double> x, absl::Span<const int32_t> relations, absl::Span<double> v) = 0;
  // Adds to d_x [d] the gradient by x of a function whose gradient by v is d_v [Q, d], after Forward of the same
  // relations.
  virtual void AddGradient(absl::Span<const int32_t> relations, absl::Span<const double> d_v,
                           absl::Span<double> d_x) = 0;
};

// Returns the queries of a model. parameters: flat, of `shape`; what is needed of it is copied. pool: not owned.
std::unique_ptr<RowQueries> MakeRowQueries(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_ROW_QUERIES_H_
