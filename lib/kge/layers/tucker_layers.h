// v(head, relation) of TuckER (Balazevic, Allen, Hospedales, EMNLP 2019, arXiv:1901.09590, equation 3) for a batch,
// forward and backward, without the paper's batch norms and dropout of hidden layers:
//
//   v_j = sum_ki W_jki w_r,k e_h,i,   W: [d, D, d], d numbers for an entity and D for a relation.
//
// So v is a linear layer of the F = D d products f_ki = w_r,k e_h,i: a batch is one matrix product, [B, F] x [F, d].

#ifndef RUTILE_LIB_KGE_LAYERS_TUCKER_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_TUCKER_LAYERS_H_

#include <cstdint>

#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/matrix_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes the products f [F] of a head's row h [d] and a relation's row r [D].
template <typename T>
void TuckerFeatures(const KgeShape& shape, const T* h, const T* r, T* f);

// Adds the gradients of <d_f, f> to d_h [d] and d_r [D].
template <typename T>
void AddTuckerFeatureGradients(const KgeShape& shape, const T* h, const T* r, const T* d_f, T* d_h, T* d_r);

// Has the contract of ProductLayers. Results have the same bits for any number of threads.
template <typename T>
class TuckerLayers {
 public:
  // pool: not owned; null: one thread.
  TuckerLayers(const KgeShape& shape, ThreadPool* pool);

  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows = {});
  void Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient, const BatchRows<T>& rows = {},
                const BatchRowGradients<T>& d_rows = {});

 private:
  // Fills masked_ and masks_ of a batch; the masks only if rows are dropped.
  void Gather(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  // Computes the features of queries begin .. end - 1 of the batch that was gathered, [end - begin, F].
  const T* Features(int64_t begin, int64_t end);

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const int64_t chunk_;  // queries whose features are in memory at once
  MatrixProducts<T> products_;
  Tensor masked_, masks_;         // [B, d + D] rows of heads and relations times their masks, and the masks
  Tensor features_, d_features_;  // [chunk, F]
  Tensor slopes_;                 // gradients of a query's masked rows, d + D
};

extern template void TuckerFeatures(const KgeShape&, const float*, const float*, float*);
extern template void TuckerFeatures(const KgeShape&, const double*, const double*, double*);
extern template void AddTuckerFeatureGradients(const KgeShape&, const float*, const float*, const float*, float*,
                                               float*);
extern template void AddTuckerFeatureGradients(const KgeShape&, const double*, const double*, const double*, double*,
                                               double*);
extern template class TuckerLayers<float>;
extern template class TuckerLayers<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_TUCKER_LAYERS_H_
