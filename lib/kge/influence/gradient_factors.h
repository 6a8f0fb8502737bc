// Gradients of embedding models' losses for single examples, as the factors that kge_products.h multiplies.

#ifndef RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_
#define RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/conve_evaluation.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What is differentiated.
struct KgeTarget {
  KgeQuantity quantity = KgeQuantity::kLoss;
  int32_t rival = -1;      // of kDifference
  bool by_triple = false;  // of the loss: KgeInfluenceOptions::by_triple
  bool penalized = false;  // of the loss: KgeInfluenceOptions::penalized
};

// The examples whose gradients are factorized.
struct KgeFactorInput {
  std::vector<Triple> triples;  // [B]; consecutive triples with the same (head, relation) share their forward pass
  // For losses over entities: the true tails of each example, ascending. For margins: those that do not count.
  std::vector<int64_t> positive_offset = {0};  // [B + 1]
  std::vector<int32_t> positive;
  // Weights of triples (lib/kge/training/scores/query_weights.h); empty: all 1.
  std::vector<double> weight;           // [B] of the example's own triple
  std::vector<double> positive_weight;  // of `positive`
  std::vector<uint8_t> is_false;        // [B] 1 for a known-false triple; empty: none is
};

// Returns example e alone.
KgeFactorInput ExampleOf(const KgeFactorInput& input, int64_t e);

// Factors of B examples that share K (head, relation) keys. A pointer is null if the plan does not need it; memory is
// reused by the next call.
template <typename T>
struct GradientFactors {
  int64_t size = 0, keys = 0;                   // B, K
  std::vector<int32_t> head, relation, tail;    // [B]
  std::vector<int32_t> key;                     // [B], ascending
  std::vector<int32_t> key_head, key_relation;  // [K]
  const T* maps = nullptr;                      // [K, F], fc's or the core tensor's input; or, without maps,
  const T* map_squares = nullptr;               // [K] their squares and
  const T* map_products = nullptr;  // [K, H] their products with the maps of GradientFactorizer::SetTestMaps
  const T* v = nullptr;             // [K, d]
  const T* d_fc = nullptr;          // [B, d]
  const T* small = nullptr;         // [B, Q]
  const T *d_head = nullptr, *d_relation = nullptr;  // [B, d], [B, D]
  const T* d_tail = nullptr;                         // [B, d] what a regularizer adds to the tail's row; null without
  const T* error = nullptr;                          // [B] d l / d score of the tail; or, for losses over entities,
  const T* errors = nullptr;                         // [B, N] d l / d scores of all entities
  // Projected maps and errors, which replace those above in products of pairs; null without projection.
  const T *short_maps = nullptr, *short_errors = nullptr;  // [K, short_map_width], [B, short_error_width]
  int64_t short_map_width = 0, short_error_width = 0;

  Tensor map_memory, v_memory, d_v_memory, d_fc_memory, small_memory, d_head_memory, d_relation_memory, error_memory;
  Tensor d_tail_memory;
  Tensor short_map_memory, short_error_memory, map_square_memory, map_product_memory;
};

// Computes the factors of gradients at one checkpoint. Used by one thread at a time.
template <typename T>
class GradientFactorizer {
 public:
  // parameters: flat [P], which must outlive this object. loss_scale multiplies losses.
  GradientFactorizer(const KgeShape& shape, const T* parameters, const KgeInfluenceOptions& options, double loss_scale,
                     ThreadPool* pool);

  // True if maps need not be stored to get their squares and products. There must then be rows to multiply with.
  bool CanSkipMaps() const { return conve_.has_value() && conve_->HasForwardWithoutMaps(); }
  // Sets the maps [H, F] that are multiplied with, if CanSkipMaps().
  void SetTestMaps(const T* maps, int64_t rows) { conve_->SetTestMaps(maps, rows); }

  // Computes the factors of the inputs' gradients. maps: whether maps are needed; if not, they are not stored if
  // CanSkipMaps().
  void Factorize(const KgeFactorInput& input, const KgePartPlan& plan, const KgeTarget& target, bool maps,
                 GradientFactors<T>* factors);

  // The same in two steps, of gradients by v that the caller has: FillQueries computes v and maps, FillSlopes from d_v
  // [B, d] all that is below v. There are no errors.
  void FillQueries(const KgeFactorInput& input, GradientFactors<T>* factors);
  void FillSlopes(const T* d_v, const KgePartPlan& plan, GradientFactors<T>* factors);

 private:
  static void Clear(GradientFactors<T>* factors);
  void FindKeys(const KgeFactorInput& input, GradientFactors<T>* factors) const;
  void FillHidden(bool maps, GradientFactors<T>* factors);
  // Returns d l / d v [B, d].
  T* FillErrors(const KgeFactorInput& input, const KgeTarget& target, GradientFactors<T>* factors);
  T* FillEntityErrors(const KgeFactorInput& input, const KgeTarget& target, GradientFactors<T>* factors);
  // Overwrites the scores of an example [N] with its errors: of a loss without those of the loss that does not know its
  // tail, of a margin, or of a difference.
  void FillErrorsByTriple(const KgeFactorInput& input, int64_t e, T* errors) const;
  void FillMarginErrors(const KgeFactorInput& input, int64_t e, T* errors) const;
  void BackwardProducts(const T* d_v, GradientFactors<T>* factors);
  const T* Entity(int32_t id) const { return parameters_ + at_.entity + id * shape_.dim(); }
  const T* Relation(int32_t id) const { return parameters_ + at_.relation + id * shape_.relation_dim(); }

  KgeShape shape_;  // its loss is that of influence
  const KgeShape::Offsets at_;
  const SmallColumns columns_;
  const T* const parameters_;
  const KgeInfluenceLoss loss_;
  const double loss_scale_;
  ThreadPool* const pool_;
  std::optional<ConveEvaluation<T>> conve_;
  MatrixProducts<T> products_;
  Tensor query_memory_;    // [B, d]
  Tensor feature_slopes_;  // [B, F] gradients of TuckER's features
};

extern template class GradientFactorizer<float>;
extern template class GradientFactorizer<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_
