// Products of the gradients of some examples with those of tests, from factors (kge_products.h has the formulas).

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PAIR_PRODUCTS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PAIR_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/kge/influence/gradient_factors.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/bf16/amx_split_products.h"
#include "lib/matrix/matrix_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Multiplies factors of examples with those of the tests that Hold has set. Used by one thread at a time.
template <typename T>
class KgePairProducts {
 public:
  // bf16: factors of the large products are rounded to bfloat16. With AMX, factors of the small tensors, of which a few
  // numbers may be nearly all of a gradient, are split into two bfloat16 numbers each.
  KgePairProducts(const KgeShape& shape, const KgePartPlan& plan, bool bf16, ThreadPool* pool);

  // Sets the H `tests`, which must outlive the calls of Multiply, as must the plan. Indexes the rows that they
  // use; may remove the maps from `tests`, which are then stored here in another order.
  void SetTests(GradientFactors<T>* tests);

  // Overwrites products [parts, B, H]. Either all losses have errors over entities or none; tests of scores have none.
  void Multiply(const GradientFactors<T>& factors, T* products);

 private:
  using Index = absl::flat_hash_map<int32_t, std::vector<int32_t>>;

  // Rows of the tests, packed for sparse_products.h.
  struct Packed {
    int64_t rows = 0, columns = 0;
    Tensor numbers;
  };
  void SetSmall(const GradientFactors<T>& tests);
  static Packed Pack(const T* rows, int64_t n, int64_t columns, int64_t stride);
  void MultiplySmall(const GradientFactors<T>& factors, T* products);
  void MultiplyFc(const GradientFactors<T>& factors, T* products);
  // Returns products of `n` rows with packed rows, in rows `*stride` apart: [n, H or the tests' keys].
  const T* MultiplyPacked(const T* rows, int64_t n, int64_t row_stride, const Packed& packed, int64_t* stride);
  void MultiplyRelations(const GradientFactors<T>& factors, T* products) const;
  // For errors of single tails.
  void MatchEntities(const GradientFactors<T>& factors, T* products) const;
  // For errors of all entities.
  void MultiplyEntities(const GradientFactors<T>& factors, T* products);
  // Returns a [rows, columns] times b [H, columns]^T.
  T* Gram(const T* a, const T* b, int64_t rows, int64_t columns, Tensor* memory);

  const KgeShape shape_;
  const KgePartPlan& plan_;
  ThreadPool* const pool_;
  const int64_t small_columns_;
  const bool bf16_;
  MatrixProducts<T> exact_, rounded_;
  const GradientFactors<T>* tests_ = nullptr;
  Index by_head_, by_relation_, by_tail_;  // indices into tests, ascending
  std::vector<T> tests_v_;                 // [H, d] v of examples, not of keys
  Packed test_maps_, tests_fc_;
  std::vector<MatrixView<T>> tests_small_;  // one for each of the plan's ranges of columns; or, with AMX,
  std::vector<AmxSplitProducts> amx_small_;
  std::vector<AlignedBuffer<uint32_t>> amx_memory_;  // one for each thread
  Tensor packed_products_, of_fc_, of_maps_, of_errors_, of_hidden_, of_heads_, of_held_heads_, of_tails_;
};

extern template class KgePairProducts<float>;
extern template class KgePairProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PAIR_PRODUCTS_H_
