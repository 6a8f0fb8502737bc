// Scores of many queries against all entities, as SweepScores, but of factors rounded to bfloat16: on AMX several times
// as fast. Each comes with what bounds its error (score_bounds.h), so that most comparisons with a target are decided.

#ifndef RUTILE_LIB_RANKING_ROUNDED_SWEEP_H_
#define RUTILE_LIB_RANKING_ROUNDED_SWEEP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/matrix/bf16_products.h"
#include "lib/matrix/prepared_products.h"
#include "lib/ranking/score_bounds.h"
#include "lib/ranking/score_sweep.h"

namespace rutile {

// Entities from `first` on as a query sees them. Scores are without bias, and may be written to.
struct RoundedScores {
  int64_t first = 0;
  BoundedBlock block;
  float* scores = nullptr;  // [n]
  QueryBound bound;
};

// Whether this machine has what makes it fast.
bool RoundedSweepIsFast();

class RoundedSweep {
 public:
  // Entities of one Visit, which stay in the cache while all queries pass.
  static constexpr int64_t kEntities = 4096;

  // hidden: [Q, dim]. What both refer to must live as long. form: of this machine, CHECK-fails else. Takes two bytes a
  // number of hidden, and 3 MB (more where dim is above 256).
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
  std::vector<Worker> workers_;                                         // of each thread
  std::vector<PreparedFactor<float>> hidden_factors_, entity_factors_;  // of pieces of queries, of blocks
  std::vector<QueryBound> bounds_;                                      // [Q]
  std::vector<float> bias_, rounded_, rest_;                            // [kEntities]
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_ROUNDED_SWEEP_H_
