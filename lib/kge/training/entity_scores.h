// Scores of queries with all entities, their loss, and its gradients, a block of both at a time: no array of
// [queries, entities] exists, and each row of the table and of its gradient is read and written once.
//
// Blocks of entities that follow each other are a lane, with a sum of its own of all that blocks add to; sums of lanes
// are added up in order. Threads take whole lanes; where there is one lane, or rows must be told of in order, all
// threads share each product. Lanes follow from sizes alone, so that any number of threads gives the same bits.

#ifndef RUTILE_LIB_KGE_TRAINING_ENTITY_SCORES_H_
#define RUTILE_LIB_KGE_TRAINING_ENTITY_SCORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/blocked_loss.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/trace/scope.h"

namespace rutile {

// Arrays of the caller. Gradients are null where the loss alone is wanted.
template <typename T>
struct EntityArrays {
  const T* v = nullptr;         // [B, d]
  const T* entities = nullptr;  // [N, d]
  const T* bias = nullptr;      // [N] or null
  T* d_entities = nullptr;      // [N, d]
  T* d_bias = nullptr;          // [N]; null where bias is
  T* d_v = nullptr;             // [B, d] overwritten
  bool add = true;              // to d_entities and d_bias; false: they are overwritten
  // d_entities and d_bias exist block by block, and are told to be finished: these two are not looked at. Without
  // `add`.
  bool hand_over = false;
};

// Rows of d_entities and d_bias that will not be touched again. The tensors hold these rows alone, and are there with
// hand_over; d_bias is nullptr where there is none.
struct FinishedRows {
  int64_t begin, end;
  const Tensor *d_entities = nullptr, *d_bias = nullptr;
};

template <typename T>
class EntityScores {
 public:
  // Sizes of a block, whose scores fill 1 MB at most: halves and doubles change less than the measurement's noise.
  static constexpr int64_t kEntities = 512;
  static constexpr int64_t kQueries = 512;

  // factors: of matrix products, in training.
  EntityScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // From now on AddLosses is called in all processes, with the same queries: it reads the rows of its entities alone,
  // makes their gradients, and d_v and the loss are parts of sums over all processes. nullptr: all is done here.
  void SetShard(KgeShard* shard) { shard_ = shard; }

  // Sum over the batch of each query's loss, and its gradients. Of a batch without queries nothing is overwritten.
  // finished: called for each block; in ascending order, and with hand_over in any, by several threads. May be empty.
  double AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays,
                   const std::function<void(const FinishedRows&)>& finished = nullptr);

 private:
  enum class Sweep { kSums, kGradients, kCrossEntropy };

  // What blocks of a lane add to.
  struct Stripe {
    int64_t begin, end;                // entities
    std::vector<double> losses;        // [B]
    std::vector<SoftmaxState> states;  // [B]
    T* d_v = nullptr;                  // [B, d]
    Tensor d_v_memory;
  };
  // Of a thread that works alone, or of all that share the work.
  struct Worker {
    Worker(ThreadPool* threads, FactorRounding factors) : pool(threads), products(factors, threads) {}
    ThreadPool* pool;
    MatrixProducts<T> products;
    Tensor scores, piece_gradients, d_entities, d_bias;
  };

  ShardRange own_entities() const {
    return shard_ != nullptr ? shard_->entities() : ShardRange{0, shape_.num_entities};
  }
  void SetLabels(const KgeBatch& batch);
  void SetLanes(int64_t queries, T* d_v);
  // states_ of all entities: of lanes, and of processes.
  void JoinLanes();
  void JoinProcesses();
  void AddLanes(int64_t queries, T* d_v);
  void ForBlock(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep, int64_t first_query, int64_t queries,
                int64_t first_entity, int64_t entities, Stripe* stripe, Worker* worker);
  void ForLane(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep,
               const std::function<void(const FinishedRows&)>& finished, Stripe* stripe, Worker* worker);
  void CountScores(const ProfileScope& scope, int64_t queries, bool gradients) const;
  void LossOfBlock(const KgeBatch& batch, Sweep sweep, int64_t first_query, int64_t queries, ScoreBlock<T> block,
                   Stripe* stripe, Worker* worker);

  const KgeShape shape_;
  ThreadPool* const pool_;
  KgeShard* shard_ = nullptr;
  std::vector<double> base_, extra_;  // [B]
  std::vector<SoftmaxState> states_;  // [B]
  std::vector<Stripe> stripes_;
  size_t num_stripes_ = 0;  // of this call; others keep their memory
  Worker together_;
  std::vector<std::unique_ptr<Worker>> alone_;  // of each thread; of one thread none
};

extern template class EntityScores<float>;
extern template class EntityScores<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_ENTITY_SCORES_H_
