// Scores that are negative distances (TransE, RotatE) of a block of queries and entities, and their gradients: what
// EntityScores has matrix products for where scores are products.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_DISTANCE_SCORES_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_DISTANCE_SCORES_H_

#include <cstdint>

#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns the form of a model's scores.
ScoreForm ScoreFormOf(const KgeOptions& options);

// A block of queries and a block of entities.
template <typename T>
struct DistanceBlock {
  const T* v = nullptr;     // [queries, d]
  const T* rows = nullptr;  // [entities, d]
  int64_t queries = 0, entities = 0, d = 0;
};

// Computes distances. One thread at a time uses an object; results have the same bits for any number of threads.
template <typename T>
class DistanceScores {
 public:
  // pool: not owned; null: one thread.
  DistanceScores(ScoreForm form, ThreadPool* pool) : form_(form), pool_(pool) {}

  // Returns the numbers between two rows of scores that Scores needs at least.
  static int64_t Stride(int64_t entities);

  // Computes scores [queries, entities], rows `stride` apart. Numbers between the rows are overwritten.
  void Scores(const DistanceBlock<T>& block, T* scores, int64_t stride);

  // Adds the gradients by v and rows to d_v [queries, d] and d_rows [entities, d], after Scores of the same block.
  // slopes: d loss / d score, rows `stride` apart; overwritten. Where a term of a distance is 0, and has no derivative,
  // 0 is taken.
  void AddGradients(const DistanceBlock<T>& block, T* slopes, int64_t stride, T* d_v, T* d_rows);

 private:
  const ScoreForm form_;
  ThreadPool* const pool_;
  Tensor panels_, no_bias_;
  Tensor distances_;  // kL2: [queries, entities]
};

// Returns to how many queries the check of the first batch is limited, at most `most` and at least 1. The definition of
// RotatE's sum of moduli keeps the differences of each query and all entities, N d numbers, several times: 64 queries
// of WN18RR took 4 GB and more than a minute.
double QueriesToCheck(const KgeShape& shape, double most);

extern template class DistanceScores<float>;
extern template class DistanceScores<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_DISTANCE_SCORES_H_
