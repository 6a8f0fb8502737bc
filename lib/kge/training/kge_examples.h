// Numbered examples of a knowledge graph, from which embedding models learn and are evaluated, and batches of them.
//
// Training examples come first (keys (head, relation) of the training triples, in the order of KnownTails, or triples,
// then their inverses, as the loss wants; then the known-false triples and their inverses, a query for each), then
// validation queries, then test queries. A validation or test triple has
// one query for each direction: 2 i asks for the tail of triple i, 2 i + 1 for its head, as the tail of (tail, inverse
// relation); without inverse relations it has one query, i.

#ifndef RUTILE_LIB_KGE_TRAINING_KGE_EXAMPLES_H_
#define RUTILE_LIB_KGE_TRAINING_KGE_EXAMPLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/known_tails.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/scores/negative_samples.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The examples of one graph and loss. Thread-safe after construction.
class KgeExamples {
 public:
  // known: the known tails of train, valid and test together.
  KgeExamples(std::shared_ptr<const KnowledgeGraph> graph, std::shared_ptr<const KnownTails> known,
              const KgeOptions& options);

  // From now on training learns from some of the training triples alone. Examples keep their numbers; a key loses the
  // tails of triples that are left out. kept: [training triples], 0 for those left out. Returns [size()]: 1 for
  // training examples of which nothing is left, which must not come into a training batch. Validation and test queries
  // and known-false triples stay as they are. Not thread-safe.
  std::vector<uint8_t> LearnFrom(absl::Span<const uint8_t> kept);

  int64_t num_train() const { return num_train_; }
  int64_t num_true() const { return num_true_; }  // training examples that are not known-false triples
  int64_t num_valid() const { return num_valid_; }
  int64_t num_test() const { return num_test_; }
  int64_t size() const { return num_train_ + num_valid_ + num_test_; }
  // Return the examples' numbers; equal queries are neighbors, so that a batch scores them once. Training examples
  // whose weights are all 0 are not among them; LearnFrom
  // changes neither them nor their order.
  std::vector<int64_t> TrainExamples() const;
  // sample: of so many triples (SampleOfTriples of lib/graph/triple_sample.h), if there are more; 0: of all.
  std::vector<int64_t> ValidExamples(int64_t sample = 0) const { return QueriesByKey(num_train_, num_valid_, sample); }
  std::vector<int64_t> TestExamples(int64_t sample = 0) const {
    return QueriesByKey(num_train_ + num_valid_, num_test_, sample);
  }

  struct Query {
    int32_t head = 0, relation = 0;
    int32_t tail = -1;  // -1: a key, which asks for all its training tails
  };
  Query At(int64_t example) const;

  // Returns the tails that are true for the loss, ascending. For a training example these are the key's training tails,
  // or the triple's own. If the loss is over keys, they are all tails in train and valid for a validation query, and in
  // train, valid and test for a test query; else the triple's own. `own` is scratch space.
  absl::Span<const int32_t> Positives(int64_t example, std::vector<int32_t>* own) const;
  // Returns the weights of Positives, of which `positives` has the values; empty: all 1. Those of a known-false triple
  // are multiplied by options.negative_weight. `own` is scratch space.
  absl::Span<const double> Weights(int64_t example, absl::Span<const int32_t> positives,
                                   std::vector<double>* own) const;
  // True for a training example that is a known-false triple.
  bool IsFalse(int64_t example) const { return example >= num_true_ && example < num_train_; }
  // True if the example adds nothing to a loss or its mean, as the weights of all its Positives are 0. A training key
  // is judged by all its training tails, whatever LearnFrom keeps.
  bool IsWeightless(int64_t example) const;
  // Returns all known tails of the query's head and relation, for filtering.
  absl::Span<const int32_t> Known(int64_t example) const;

  // Fills a batch with the tensors head i32 [B], relation i32 [B], example i64 [B], positive_offset i64 [B + 1],
  // positive i32, with weights or known-false triples also positive_weight f64 and is_false u8 [B], epoch i64 [1],
  // number i64 [1] (of the batch in its epoch). With options.negatives_per_batch, batches of training also have
  // negative i32 and negative_log_weight f64 (negative_samples.h), which do not depend on the examples. For an
  // evaluation, epoch is -1 and there are also target_offset i64 [B + 1] and target i32 (entities to rank; none for a
  // known-false triple), known_offset i64 [B + 1] and known i32 (entities to filter). Memory is reused if it is large
  // enough.
  void FillBatch(absl::Span<const int64_t> examples, int64_t epoch, NamedTensors* batch, int64_t number = 0) const;

 private:
  std::vector<int64_t> QueriesByKey(int64_t first, int64_t count, int64_t sample) const;
  Query QueryOf(const Triple& triple, bool inverse) const;
  // Returns the tails of a key of training that are learned.
  absl::Span<const int32_t> TrainTails(int64_t key) const;
  // Returns the weight of the triple that a query with this tail stands for.
  double WeightOfPair(int32_t head, int32_t relation, int32_t tail) const;
  void FillNegatives(int64_t epoch, int64_t number, NamedTensors* batch) const;

  const std::shared_ptr<const KnowledgeGraph> graph_;
  const std::shared_ptr<const KnownTails> known_;
  const bool keys_;           // all tails of a key are true for the loss
  const bool train_keys_;     // training examples are keys; true with keys_
  const int64_t directions_;  // 1, or 2 with inverse relations
  KnownTails train_tails_;    // used if training examples are keys
  KnownTails kept_tails_;     // the same of the triples that LearnFrom keeps
  bool keeps_all_ = true;     // LearnFrom was not called
  KnownTails valid_tails_;    // used if the loss is over keys
  const bool weighted_;       // batches have weights
  const double negative_weight_;
  std::unique_ptr<const NegativeSampler> negatives_;  // of a sampled softmax
  absl::flat_hash_map<Triple, double> weight_of_;     // if examples are keys and triples have weights
  int64_t num_true_ = 0;                              // training examples before those that are false
  int64_t num_train_ = 0, num_valid_ = 0, num_test_ = 0;
};

// Returns views of the arrays of a batch that FillBatch made.
KgeBatch ViewKgeBatch(const NamedTensors& batch);
// True if the batch was made for an evaluation.
inline bool IsEvaluation(const NamedTensors& batch) { return batch.At("epoch").values<int64_t>()[0] < 0; }

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_KGE_EXAMPLES_H_
