// Gradients of embedding models' losses for single examples, as the factors that kge_products.h names.

#ifndef RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_
#define RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/conve_evaluation.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct KgeFactorInput {
  std::vector<Triple> triples;  // [B]; neighbors of one (head, relation) share their forward pass
  // Losses over entities alone: true tails of each, ascending.
  std::vector<int64_t> positive_offset = {0};  // [B + 1]
  std::vector<int32_t> positive;
};

// Of B examples of K keys. Pointers are null where the plan needs none of it, and into memory that is kept for the next
// use.
template <typename T>
struct GradientFactors {
  int64_t size = 0, keys = 0;                        // B, K
  std::vector<int32_t> head, relation, tail;         // [B]
  std::vector<int32_t> key;                          // [B], ascending
  std::vector<int32_t> key_head, key_relation;       // [K]
  const T* maps = nullptr;                           // [K, F]; or
  const T* map_squares = nullptr;                    // [K] and
  const T* map_products = nullptr;                   // [K, rows held] of them (GradientFactorizer::HoldMaps)
  const T* v = nullptr;                              // [K, d]
  const T* d_fc = nullptr;                           // [B, d]
  const T* small = nullptr;                          // [B, Q]
  const T *d_head = nullptr, *d_relation = nullptr;  // [B, d]
  const T* error = nullptr;                          // [B] d l / d score of the tail; or
  const T* errors = nullptr;                         // [B, N] of all entities
  // Maps and errors, projected, in their place in products of pairs; or null: those themselves.
  const T *short_maps = nullptr, *short_errors = nullptr;  // [K, .] and [B, .] numbers a row
  int64_t short_map_width = 0, short_error_width = 0;

  Tensor map_memory, v_memory, d_v_memory, d_fc_memory, small_memory, d_head_memory, d_relation_memory, error_memory;
  Tensor short_map_memory, short_error_memory, map_square_memory, map_product_memory;
};

// One thread at a time.
template <typename T>
class GradientFactorizer {
 public:
  // parameters: flat [P], outlive this. loss_scale: multiplies losses.
  GradientFactorizer(const KgeShape& shape, const T* parameters, const KgeInfluenceOptions& options, double loss_scale,
                     ThreadPool* pool);

  // Whether it can do without maps, but for their squares and products. It cannot multiply by 0 rows.
  bool CanSkipMaps() const { return conve_.has_value() && conve_->HasForwardWithoutMaps(); }
  // Where it can: held maps [H, F] to multiply by.
  void HoldMaps(const T* maps, int64_t rows) { conve_->HoldMaps(maps, rows); }

  // score: the gradient of the score, not of the loss. maps: whether maps are needed; else they are not made where this
  // is possible.
  void Factorize(const KgeFactorInput& input, const KgePartPlan& plan, bool score, bool maps,
                 GradientFactors<T>* factors);

 private:
  void FindKeys(const KgeFactorInput& input, GradientFactors<T>* factors) const;
  void FillHidden(bool maps, GradientFactors<T>* factors);
  // d l / d v [B, d].
  T* FillErrors(const KgeFactorInput& input, bool score, GradientFactors<T>* factors);
  T* FillEntityErrors(const KgeFactorInput& input, GradientFactors<T>* factors);
  void BackwardProducts(const T* d_v, GradientFactors<T>* factors) const;
  const T* Entity(int32_t id) const { return parameters_ + at_.entity + id * shape_.dim(); }
  const T* Relation(int32_t id) const { return parameters_ + at_.relation + id * shape_.dim(); }

  KgeShape shape_;  // its loss is the one of influence
  const KgeShape::Offsets at_;
  const SmallColumns columns_;
  const T* const parameters_;
  const KgeInfluenceLoss loss_;
  const double loss_scale_;
  ThreadPool* const pool_;
  std::optional<ConveEvaluation<T>> conve_;
  MatrixProducts<T> products_;
  Tensor query_memory_;  // [B, d]
};

extern template class GradientFactorizer<float>;
extern template class GradientFactorizer<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_GRADIENT_FACTORS_H_
