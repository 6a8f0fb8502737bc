// Scores of queries with all entities, their loss, and its gradients, a block of both at a time: no array of [queries,
// entities] exists, and each row of the table and of its gradient is read and written once.
//
// Consecutive blocks of entities form a stripe with its own partial sums; the sums of stripes are added in order. A
// thread takes whole stripes; if there is only one stripe, or finished rows must be reported in order, all threads
// share each product. Stripes depend only on sizes, so any number of threads gives the same bits.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_ENTITY_SCORES_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_ENTITY_SCORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/blocked_loss.h"
#include "lib/kge/training/scores/distance_scores.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/trace/scope.h"

namespace rutile {

// The caller's arrays. Gradients are null if only the loss is wanted.
template <typename T>
struct EntityArrays {
  const T* v = nullptr;         // [B, d]
  const T* entities = nullptr;  // [N, d]
  const T* bias = nullptr;      // [N] or null
  T* d_entities = nullptr;      // [N, d]
  T* d_bias = nullptr;          // [N]; null where bias is
  T* d_v = nullptr;             // [B, d] overwritten
  bool add = true;              // add to d_entities and d_bias; false: overwrite them
  // If true, d_entities and d_bias are computed in the memory of a block and only passed to `finished`: the two arrays
  // above are not used. Needs add = false.
  bool hand_over = false;
  // [B] what each query's softmax loss is multiplied by beside QueryCount; empty: 1.
  absl::Span<const double> weights = {};
  // If set, adds to the gradient of the entities, which begins at `gradient`, what is not of scores: a regularizer's.
  // Called by several threads, once for each block. The losses are without it.
  std::function<void(ShardRange entities, T* gradient)> add_to_rows = nullptr;
};

// Rows of d_entities and d_bias that are final. The tensors hold these rows alone, and are set only with hand_over;
// d_bias is nullptr if there is no bias.
struct FinishedRows {
  int64_t begin, end;
  const Tensor *d_entities = nullptr, *d_bias = nullptr;
};

template <typename T>
// Computes losses and gradients of batches of hidden vectors v [B, d] against the table of entities.
class EntityScores {
 public:
  // Sizes of a block, whose scores fill 1 MB at most. Half or twice the size changes the time by less than the noise.
  static constexpr int64_t kEntities = 512;
  static constexpr int64_t kQueries = 512;

  // pool may be null, for one thread. factors: how factors of matrix products are rounded in training; distances have
  // none.
  EntityScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // From now on AddLosses is called in all processes with the same queries: each reads the rows of its own entities and
  // computes their gradients; d_v and the loss are addends of sums over all processes. nullptr: this process has all
  // entities.
  void SetShard(KgeShard* shard) { shard_ = shard; }

  // Returns the sum of the batch's losses, and computes their gradients. A batch without queries overwrites nothing. If
  // `finished` is given, it is called for each block: in ascending order, or with hand_over in any order by several
  // threads.
  double AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays,
                   const std::function<void(const FinishedRows&)>& finished = nullptr);

 private:
  enum class Sweep { kSums, kGradients, kCrossEntropy };

  // The partial sums of a stripe.
  struct Stripe {
    int64_t begin, end;                // entities
    std::vector<double> losses;        // [B]
    std::vector<SoftmaxState> states;  // [B]
    T* d_v = nullptr;                  // [B, d]
    Tensor d_v_memory;
  };
  // What one thread that works alone, or all threads that share a product, work with.
  struct Worker {
    Worker(ThreadPool* threads, FactorRounding factors, ScoreForm form)
        : pool(threads), products(factors, threads), distances(form, threads) {}
    ThreadPool* pool;
    MatrixProducts<T> products;
    DistanceScores<T> distances;
    Tensor scores, piece_gradients, d_entities, d_bias;
    Tensor mask, masked, d_masked;  // a block's candidates after dropout
  };
  // A block of rows that queries are scored with, and where their gradient goes.
  struct Candidates {
    ShardRange entities;
    const T* rows;  // [n, d]
    T* d_rows;      // [n, d]
    bool add;       // to d_rows
  };

  ShardRange own_entities() const {
    return shard_ != nullptr ? shard_->entities() : ShardRange{0, shape_.num_entities};
  }
  void SetLabels(const KgeBatch& batch, absl::Span<const double> weights);
  // Returns the sum of the softmax losses times the queries' weights, and makes the gradients of a sweep those of it.
  double WeighQueries(const KgeBatch& batch);
  void SetLanes(int64_t queries, T* d_v);
  // Sum the softmax states over stripes, and over processes, into states_.
  void JoinLanes();
  void JoinProcesses();
  void AddLanes(int64_t queries, T* d_v);
  void ForBlock(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep, int64_t first_query, int64_t queries,
                const Candidates& candidates, Stripe* stripe, Worker* worker);
  // Drops elements of the rows: returns the block as it is scored.
  Candidates Drop(const KgeBatch& batch, const Candidates& block, Worker* worker) const;
  // Moves the gradient of dropped rows to the block's.
  void AddDropped(const Candidates& dropped, const Candidates& block, Worker* worker) const;
  void ForLane(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep,
               const std::function<void(const FinishedRows&)>& finished, Stripe* stripe, Worker* worker);
  void CountScores(const ProfileScope& scope, int64_t queries, bool gradients) const;
  void LossOfBlock(const KgeBatch& batch, Sweep sweep, int64_t first_query, int64_t queries, ScoreBlock<T> block,
                   Stripe* stripe, Worker* worker);

  const KgeShape shape_;
  const ScoreForm form_;
  ThreadPool* const pool_;
  KgeShard* shard_ = nullptr;
  std::vector<double> base_, extra_, weight_;  // [B]
  std::vector<double> tail_weight_;            // of the batch's true tails; empty: all 1
  std::vector<SoftmaxState> states_;           // [B]
  std::vector<Stripe> stripes_;
  size_t num_stripes_ = 0;  // stripes of this call; later ones keep their memory
  Worker together_;
  std::vector<std::unique_ptr<Worker>> alone_;  // one for each thread; empty if there is only one thread
};

extern template class EntityScores<float>;
extern template class EntityScores<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_ENTITY_SCORES_H_
