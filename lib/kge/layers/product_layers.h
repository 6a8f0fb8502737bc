// v(head, relation) of DistMult and ComplEx (kge_options.h has the formulas), forward and backward.

#ifndef RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes v and its gradients batch by batch. parameters and gradient are flat [P]; v and d_v are [B, d].
template <typename T>
class ProductLayers {
 public:
  explicit ProductLayers(const KgeShape& shape) : shape_(shape), at_(shape.offsets()) {}

  // Computes v, and keeps the dropout masks for Backward.
  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows = {});
  // Adds d loss / d parameters to the gradient and to d_rows, after Forward of the same parameters, batch and rows.
  void Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient, const BatchRows<T>& rows = {},
                const BatchRowGradients<T>& d_rows = {});

 private:
  // Fills the masks of e_h and of w_r of query e, [2 d].
  void FillMasks(const KgeBatch& batch, int64_t e, absl::Span<T> masks) const;

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  Tensor masks_;  // [B, 2 d]
};

extern template class ProductLayers<float>;
extern template class ProductLayers<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_PRODUCT_LAYERS_H_
