// v(head, relation) of the models that have no weights but embeddings (kge_options.h has the formulas), for one query.

#ifndef RUTILE_LIB_KGE_LAYERS_PRODUCT_QUERY_H_
#define RUTILE_LIB_KGE_LAYERS_PRODUCT_QUERY_H_

#include "lib/kge/model/kge_shape.h"

namespace rutile {

// Computes v [d] of a head's row h [d] and a relation's row r [D = shape.relation_dim()]. CHECK-fails for ConvE and
// TuckER.
template <typename T>
void ProductQuery(const KgeShape& shape, const T* h, const T* r, T* v);

// Adds the gradients of <d_v, v> to d_h [d] and d_r [D].
template <typename T>
void AddProductGradients(const KgeShape& shape, const T* h, const T* r, const T* d_v, T* d_h, T* d_r);

extern template void ProductQuery(const KgeShape&, const float*, const float*, float*);
extern template void ProductQuery(const KgeShape&, const double*, const double*, double*);
extern template void AddProductGradients(const KgeShape&, const float*, const float*, const float*, float*, float*);
extern template void AddProductGradients(const KgeShape&, const double*, const double*, const double*, double*,
                                         double*);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_PRODUCT_QUERY_H_
