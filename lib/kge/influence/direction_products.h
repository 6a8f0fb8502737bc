// Products of factored gradients with a direction of P numbers, for weighted tests and preconditioners.

#ifndef RUTILE_LIB_KGE_INFLUENCE_DIRECTION_PRODUCTS_H_
#define RUTILE_LIB_KGE_INFLUENCE_DIRECTION_PRODUCTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/kge/influence/gradient_factors.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes such products. Used by one thread at a time. Factors must be those of the same plan, which outlives this
// object.
template <typename T>
class DirectionProducts {
 public:
  // pool is not owned; null for one thread.
  DirectionProducts(const KgeShape& shape, const KgePartPlan& plan, ThreadPool* pool = nullptr)
      : at_(shape.offsets()), columns_(shape), shape_(shape), plan_(plan), products_(FactorRounding::kNone, pool) {}

  // Adds the weighted gradients, direction [P] += sum over examples of weights[e] grad l(e); weights: [B]. Tensors in
  // no part are not changed.
  void AddGradients(const GradientFactors<T>& factors, absl::Span<const double> weights, T* direction);

  // Computes products[part * stride + e * step] = <grad l(e), direction>.
  void Multiply(const GradientFactors<T>& factors, const T* direction, int64_t stride, int64_t step, T* products);

  // Computes squares[part * stride + e] = sum over p of metric[p] grad l(e)[p]^2; metric: [P], or null if all are 1.
  void Squares(const GradientFactors<T>& factors, const T* metric, int64_t stride, double* squares);

 private:
  void AddEntities(const GradientFactors<T>& factors, absl::Span<const double> weights, T* direction);
  void MultiplyEntities(const GradientFactors<T>& factors, const T* direction, int64_t step, T* of_rows, T* of_bias);
  double EntitySquare(const GradientFactors<T>& factors, int64_t example) const;
  double TailSquare(const GradientFactors<T>& factors, const T* metric, int64_t example) const;
  void EntitySquares(const GradientFactors<T>& factors, const T* metric, double* of_rows);
  double BiasSquare(const GradientFactors<T>& factors, const T* metric, int64_t example) const;
  // Returns maps [K, F] times the transpose of a matrix of fc's shape, [K, d].
  const T* TimesFc(const T* maps, int64_t keys, const T* matrix);

  const KgeShape::Offsets at_;
  const SmallColumns columns_;
  const KgeShape shape_;
  const KgePartPlan& plan_;
  MatrixProducts<T> products_;
  Tensor rows_, squares_, results_;
};

extern template class DirectionProducts<float>;
extern template class DirectionProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_DIRECTION_PRODUCTS_H_
