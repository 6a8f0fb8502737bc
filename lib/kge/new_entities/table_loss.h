// Losses of queries with all entities of a fixed table, as functions of the queries' hidden vectors.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_TABLE_LOSS_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_TABLE_LOSS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The labels of a query: base for each entity, and base + extra for its tails.
struct QueryLabels {
  SmoothedLabels labels;
  std::vector<int32_t> tails;
};

// The table of entities of a model with N entities. Scores s = E v + b are computed in fp64, with the same bits for any
// number of threads and whatever queries come together. One thread at a time may use an object.
class TableLoss {
 public:
  // parameters: flat, of `shape`; shared. pool: not owned.
  TableLoss(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool);

  // Returns the sum of the queries' losses and overwrites d_v [Q, d] with its gradient. v: [Q, d]. Softmax losses:
  // log sum_e exp(s_e) - sum_e y_e s_e, for labels whose sum is 1. Others: sum_e log(1 + exp(s_e)) - y_e s_e, which is
  // N times the mean that training takes.
  double Evaluate(absl::Span<const QueryLabels> queries, absl::Span<const double> v, absl::Span<double> d_v);

  // Returns log sum_e exp(s_e) of each query, [Q].
  std::vector<double> LogSums(absl::Span<const double> v);

 private:
  // Fills scores_ [queries, N].
  void Score(absl::Span<const double> v);
  // Copies the rows of entities [begin, end) in fp64, of which there are at most kRows.
  const double* Rows(int64_t begin, int64_t end, int worker);

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const Tensor parameters_;
  ThreadPool* const pool_;
  const int64_t piece_;                    // entities of a piece, of which there are at most 64
  std::vector<std::vector<double>> rows_;  // one for each thread
  std::vector<double> scores_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_TABLE_LOSS_H_
