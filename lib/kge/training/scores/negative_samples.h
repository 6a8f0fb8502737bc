// Draws the entities that stand for all in a sampled softmax.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// Returns `count` of 0 .. num_entities - 1, ascending: each set of so many is as likely. It is a function of the
// arguments alone, so that processes that share a batch draw the same. number: of the batch in its epoch. CHECK-fails
// unless 0 <= count <= num_entities.
std::vector<int32_t> DrawNegatives(uint64_t seed, int64_t epoch, int64_t number, int64_t num_entities, int64_t count);

// Returns the logarithm of what each of these counts for in a sum over all entities, log(num_entities / count).
double NegativeLogWeight(int64_t num_entities, int64_t count);

// The negatives of a batch.
struct Negatives {
  std::vector<int32_t> entities;   // ascending, each once
  std::vector<double> log_weight;  // log of how many entities each stands for
};

// Draws the negatives of batches: options.negatives_per_batch of them, as options.negatives_by says.
//
// By frequency and by type, half are drawn uniformly, each entity once at most, and half with the probability p,
// independently. By frequency p is how often an entity is an answer of a training triple (its tail, or, with inverse
// relations, its head, too), divided by the number of answers. By type p draws an answer, then one of its types, then
// an entity of this type, each with equal probability, and any entity for an answer without types.
//
// An entity that comes m times stands for m / (n_u / N + n_p p) entities, with n_u uniform draws and n_p others. On
// average m is what it is divided by, so that sums over entities are those over all of them on average (the balance
// heuristic of multiple importance sampling: Veach and Guibas, SIGGRAPH 1995, section 3.3; no weight is above m N /
// n_u).
//
// What is drawn depends on the graph, the options (their seed, too), epoch and number alone. Thread-safe.
class NegativeSampler {
 public:
  // CHECK-fails if options.negatives_by is kType and the graph has no types, or if there are fewer entities than
  // options.negatives_per_batch.
  NegativeSampler(std::shared_ptr<const KnowledgeGraph> graph, const KgeOptions& options);

  Negatives Draw(int64_t epoch, int64_t number) const;

  // Returns p of an entity, for kFrequency and kType.
  double Probability(int32_t entity) const;

 private:
  int32_t DrawAnswer(RandomStream* stream) const;
  int32_t DrawOther(RandomStream* stream) const;

  const std::shared_ptr<const KnowledgeGraph> graph_;
  const NegativeKind kind_;
  const int64_t count_;
  const uint64_t seed_;
  double num_answers_ = 0;
  std::vector<int32_t> frequency_;       // [N] of kFrequency: how often an entity is an answer
  std::vector<double> of_type_;          // [K] of kType: p that each of its entities has from a type
  double of_untyped_ = 0;                // p that each entity has from answers without types
  std::vector<int64_t> type_begin_;      // [K + 1]
  std::vector<int32_t> entity_of_type_;  // entities of type t are type_begin_[t] .. type_begin_[t + 1] - 1
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_
