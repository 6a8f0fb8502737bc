// v(head, relation) of the models without layers (kge_options.h has the formulas) for a batch, forward and backward.

#ifndef RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_

#include <cstdint>

#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/rescal_layers.h"
#include "lib/kge/layers/tucker_layers.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes v and its gradients batch by batch. parameters and gradient are flat [P]; v and d_v are [B, d].
template <typename T>
class ProductLayers {
 public:
  // pool: not owned; null: one thread. RESCAL and TuckER alone use it.
  explicit ProductLayers(const KgeShape& shape, ThreadPool* pool = nullptr)
      : shape_(shape), at_(shape.offsets()), rescal_(shape, pool), tucker_(shape, pool) {}

  // Computes v, and keeps the dropout masks for Backward.
  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows = {});
  // Adds d loss / d parameters to the gradient and to d_rows, after Forward of the same parameters, batch and rows.
  void Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient, const BatchRows<T>& rows = {},
                const BatchRowGradients<T>& d_rows = {});

 private:
  bool IsRescal() const { return shape_.options.model == KgeModel::kRescal; }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  RescalLayers<T> rescal_;
  TuckerLayers<T> tucker_;
  Tensor masks_;   // [B, d + D]
  Tensor masked_;  // rows of a query times their masks, and their gradients, 2 (d + D)
};

extern template class ProductLayers<float>;
extern template class ProductLayers<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_
