// v(head, relation) of RESCAL (Nickel, Tresp, Kriegel, ICML 2011), v = e_h^T W_r, for a batch, forward and backward.
//
// Queries of the same relation are one matrix product, [n, d] x [d, d]. With dropout of relations each query has a
// matrix of its own, which is multiplied by itself.

#ifndef RUTILE_LIB_KGE_LAYERS_RESCAL_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_RESCAL_LAYERS_H_

#include <cstdint>
#include <vector>

#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Has the contract of ProductLayers. Results have the same bits for any number of threads.
template <typename T>
class RescalLayers {
 public:
  // pool: not owned; null: one thread.
  RescalLayers(const KgeShape& shape, ThreadPool* pool);

  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows);
  void Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient, const BatchRows<T>& rows,
                const BatchRowGradients<T>& d_rows);

 private:
  // Sorts the queries by relation, and gathers their heads times the masks, if each query has no matrix of its own.
  void Gather(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  // Calls body(first, end) for places in order_ whose queries have the same relation.
  template <typename Body>
  void ForGroups(const KgeBatch& batch, const Body& body) const;

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  MatrixProducts<T> products_;
  std::vector<int64_t> order_;  // [B] queries, ascending by relation
  Tensor heads_, head_masks_;   // [B, d] in this order; the masks only if heads are dropped
  Tensor v_, slopes_;           // [B, d] v and its gradient in this order
  Tensor masks_, masked_;       // rows of a query and their gradients, d + d d and twice as much
};

extern template class RescalLayers<float>;
extern template class RescalLayers<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_RESCAL_LAYERS_H_
