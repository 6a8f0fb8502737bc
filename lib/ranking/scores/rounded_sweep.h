// Computes scores as SweepScores does, but from factors rounded to bfloat16, which on AMX is several times as fast.
// Each score comes with an error bound (score_bounds.h), which decides most comparisons with a target.

#ifndef RUTILE_LIB_RANKING_SCORES_ROUNDED_SWEEP_H_
#define RUTILE_LIB_RANKING_SCORES_ROUNDED_SWEEP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/prepared_products.h"
#include "lib/ranking/scores/score_bounds.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {

// Scores of one query for entities from `first` on. Scores exclude the bias, and the visitor may overwrite them.
struct RoundedScores {
  int64_t first = 0;
  BoundedBlock block;
  float* scores = nullptr;  // [n]
  QueryBound bound;
};

// True if this machine has the instructions that make the sweep fast.
bool RoundedSweepIsFast();

// A sweep over entities in pieces that the caller chooses.
class RoundedSweep {
 public:
  // Number of entities of one Visit, which stay in the cache for all queries.
  static constexpr int64_t kEntities = 4096;

  // hidden: [Q, dim]. The data of table and hidden must outlive this object. CHECK-fails if this machine lacks `form`.
  // Takes two bytes per number of hidden, and 3 MB (more if dim is above 256).
  RoundedSweep(const ScoreTable<float>& table, absl::Span<const float> hidden, Bf16Form form, ThreadPool* pool);

  // Calls visit for each query and each block of at most kBlock entities in [begin, begin + kEntities). One query is
  // visited by one thread at a time, its blocks in ascending order.
  static constexpr int64_t kBlock = 512;
  void Visit(int64_t begin, const std::function<void(int64_t q, const RoundedScores& scores, int worker)>& visit);

 private:
  struct Worker {
    PreparedProducts<float> products;
    std::vector<float> scores;
  };

  void PrepareBlock(int64_t block, int64_t first, int64_t last, const PreparedProducts<float>& products);

  const ScoreTable<float> table_;
  const absl::Span<const float> hidden_;
  ThreadPool* const pool_;
  const int64_t num_queries_, queries_per_piece_;
  std::vector<Worker> workers_;                                         // one per thread
  std::vector<PreparedFactor<float>> hidden_factors_, entity_factors_;  // one per piece of queries, one per block
  std::vector<QueryBound> bounds_;                                      // [Q]
  std::vector<float> bias_, rounded_, rest_;                            // [kEntities]
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_ROUNDED_SWEEP_H_
