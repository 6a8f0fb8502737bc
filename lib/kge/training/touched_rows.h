// The gradient of a batch with negatives as the rows that it touches: nothing here walks a table of entities.
//
// The rows of a batch's heads, tails, negatives and relations are gathered into the parameters of a small model, whose
// entities and relations keep their order, and ConveKernel computes its gradient: the numbers of these rows in the
// gradient of the large model, to the bit.

#ifndef RUTILE_LIB_KGE_TRAINING_TOUCHED_ROWS_H_
#define RUTILE_LIB_KGE_TRAINING_TOUCHED_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/gradients/row_gradients.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes gradients of batches with negatives. One thread at a time uses an object. It takes memory for the parameters
// and the gradient of the largest batch's rows, of all relations with relation_prediction, and of what is no table.
class TouchedRows {
 public:
  // Like ConveKernel's.
  TouchedRows(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // Does what ConveKernel::AccumulateGradients does, but overwrites `gradient`. CHECK-fails on a batch without
  // negatives.
  absl::Status ComputeRows(const Tensor& parameters, const KgeBatch& batch, RowGradient* gradient, double* loss_sum,
                           BatchStatistics* statistics);

 private:
  // Finds the rows, and the batch's numbers among them.
  void Find(const KgeBatch& batch);
  // Makes a kernel for at least as many rows as the batch has.
  void MakeRoom();
  // Copies the rows' parameters, and all that is no table.
  template <typename T>
  void Gather(const Tensor& parameters);
  void FillRanges(RowGradient* gradient) const;

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  ThreadPool* const pool_;
  const FactorRounding factors_;
  std::vector<int32_t> entities_, relations_;                   // touched, ascending
  std::vector<int32_t> head_, relation_, positive_, negative_;  // the batch's, as numbers of these
  KgeShape small_;
  std::unique_ptr<ConveKernel> kernel_;  // of small_
  Tensor parameters_;                    // of small_
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_TOUCHED_ROWS_H_
