// Losses of scores and labels over blocks of entities, and their gradients in place of the scores.
//
// The label of an entity is `base`, of a true tail base + extra. For each query, over all N entities k with scores x:
//
//   binary cross-entropy   l = scale (sum_k softplus(x_k) - base x_k  -  extra sum_true x_k)
//                          d l / d x_k = scale (sigmoid(x_k) - label_k)
//   softmax cross-entropy  l = log sum_k e^x_k - sum_k label_k x_k,   labels that add up to 1
//                          d l / d x_k = softmax(x)_k - label_k
//
// With weights (query_weights.h), the extra part of a true tail's label is multiplied by its tail_weight in the
// softmax; in the binary cross-entropy, the whole term of that entity is, and all terms by the query's weight. Of a
// query that is false only its one listed tail counts: softplus(x) in the binary cross-entropy; in the softmax see
// FalseAnswer.
//
// The second needs two passes over the blocks: SoftmaxSums of all, then SoftmaxGradients of all. Gradients do not
// depend on how entities are divided into blocks, and losses only by rounding (1e-6 in fp32, 1e-15 in fp64, of the sum
// of all terms' sizes). Scores of any size are exact: no exponential of a positive number is taken. NaN makes loss and
// gradient NaN.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_BLOCKED_LOSS_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_BLOCKED_LOSS_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace rutile {

// Scores of Q queries with the entities [first, first + n).
template <typename T>
struct ScoreBlock {
  T* scores = nullptr;  // [Q, n], rows `stride` apart
  int64_t stride = 0;
  int64_t first = 0;
  int64_t n = 0;
  const T* bias = nullptr;     // [n], added to the scores; null for none
  T* bias_gradient = nullptr;  // [n], d loss / d bias is added; null: not wanted
};

// Labels of Q queries. base and extra are [Q]. CHECK-fails if lengths disagree.
struct BlockLabels {
  absl::Span<const int64_t> positive_offset;  // [Q + 1] into positive
  absl::Span<const int32_t> positive;         // entities that are true, ascending for each query
  absl::Span<const double> base, extra;
  absl::Span<const double> tail_weight = {};  // of the entities in `positive`; empty: all 1
  absl::Span<const double> weight = {};       // [Q] of binary cross-entropies; empty: all 1
  absl::Span<const uint8_t> is_false = {};    // [Q] 1 if the query's one entity in `positive` is false; empty: none

  int64_t size() const { return static_cast<int64_t>(base.size()); }
  bool IsFalse(int64_t query) const { return !is_false.empty() && is_false[query] != 0; }
  double TailWeight(int64_t k) const { return tail_weight.empty() ? 1 : tail_weight[k]; }
  double Weight(int64_t query) const { return weight.empty() ? 1 : weight[query]; }
};

// Adds the block's part of each query's loss to losses [Q], and replaces the block's scores by d loss / d score.
template <typename T>
void BinaryCrossEntropy(const BlockLabels& labels, double scale, const ScoreBlock<T>& block, absl::Span<double> losses);

// A query's softmax sums over the blocks so far.
struct SoftmaxState {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;    // of e^(x - max)
  double label = 0;  // of label_k x_k

  double Loss() const;
  // Adds the sums of other blocks.
  void Join(const SoftmaxState& other);
};

// The loss -log(1 - p) = log(1 + e^(x - L)) of an answer with score x that is false, L being log sum e^x_k over the
// other entities, and its slope: the derivatives by scores are slope times those of L - x. L - x is what
// SoftmaxState::Loss returns for a false query.
struct FalseAnswer {
  explicit FalseAnswer(double others_less_answer);

  double loss, slope;
};

// Adds the block to states [Q]. Scores are not changed, but for the one entity of a false query, which is left out of
// the sum.
template <typename T>
void SoftmaxSums(const BlockLabels& labels, const ScoreBlock<T>& block, absl::Span<SoftmaxState> states);
// Replaces the block's scores by d loss / d score, after SoftmaxSums of all blocks.
template <typename T>
void SoftmaxGradients(const BlockLabels& labels, absl::Span<const SoftmaxState> states, const ScoreBlock<T>& block);

extern template void BinaryCrossEntropy(const BlockLabels&, double, const ScoreBlock<float>&, absl::Span<double>);
extern template void BinaryCrossEntropy(const BlockLabels&, double, const ScoreBlock<double>&, absl::Span<double>);
extern template void SoftmaxSums(const BlockLabels&, const ScoreBlock<float>&, absl::Span<SoftmaxState>);
extern template void SoftmaxSums(const BlockLabels&, const ScoreBlock<double>&, absl::Span<SoftmaxState>);
extern template void SoftmaxGradients(const BlockLabels&, absl::Span<const SoftmaxState>, const ScoreBlock<float>&);
extern template void SoftmaxGradients(const BlockLabels&, absl::Span<const SoftmaxState>, const ScoreBlock<double>&);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_BLOCKED_LOSS_H_
