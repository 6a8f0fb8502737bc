// Scores of queries with all entities, their loss, and its gradients, a block of both at a time: no array of
// [queries, entities] exists, and each row of the table and of its gradient is read and written once.

#ifndef RUTILE_LIB_KGE_ENTITY_SCORES_H_
#define RUTILE_LIB_KGE_ENTITY_SCORES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/kge/blocked_loss.h"
#include "lib/kge/kge_batch.h"
#include "lib/kge/kge_shape.h"
#include "lib/kge/kge_shard.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/profile/scope.h"
#include "lib/tensorfile/named_tensors.h"

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
  // d_entities and d_bias are [kEntities, d] and [kEntities]: they hold one block after the other, each until it has
  // been told to be finished. Without `add`.
  bool one_block = false;
};

template <typename T>
class EntityScores {
 public:
  // Sizes of a block, whose scores fill 1 MB at most: halves and doubles change less than the measurement's noise.
  static constexpr int64_t kEntities = 512;
  static constexpr int64_t kQueries = 512;

  // factors: of matrix products, in training.
  EntityScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
      : shape_(shape), pool_(pool), products_(factors, pool) {}

  // From now on AddLosses is called in all processes, with the same queries: it reads the rows of its entities alone,
  // makes their gradients, and d_v and the loss are parts of sums over all processes. nullptr: all is done here.
  void SetShard(KgeShard* shard) { shard_ = shard; }

  // Sum over the batch of each query's loss, and its gradients. Of a batch without queries nothing is overwritten.
  // finished: called for the rows [begin, end) of d_entities and d_bias that this call will not touch again, in
  // ascending order; may be empty.
  double AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays,
                   const std::function<void(int64_t begin, int64_t end)>& finished = nullptr);

 private:
  enum class Sweep { kSums, kGradients, kCrossEntropy };

  ShardRange own_entities() const {
    return shard_ != nullptr ? shard_->entities() : ShardRange{0, shape_.num_entities};
  }
  void SetLabels(const KgeBatch& batch);
  // states_ of all entities, from those of each process's.
  void JoinStates();
  void ForBlock(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep, int64_t first_query, int64_t queries,
                int64_t first_entity, int64_t entities);
  void CountScores(const ProfileScope& scope, int64_t queries, bool gradients) const;
  void LossOfBlock(const KgeBatch& batch, Sweep sweep, int64_t first_query, int64_t queries, ScoreBlock<T> block);

  const KgeShape shape_;
  ThreadPool* const pool_;
  MatrixProducts<T> products_;
  KgeShard* shard_ = nullptr;
  std::vector<double> base_, extra_, losses_;  // [B]
  std::vector<SoftmaxState> states_;           // [B]
  Tensor scores_, bias_gradients_;
};

extern template class EntityScores<float>;
extern template class EntityScores<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_ENTITY_SCORES_H_
