// Checks what products of gradients are made of (kge_products.h).

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_CHECKS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_CHECKS_H_

#include "absl/status/status.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// INVALID_ARGUMENT: the errors of MakeKgeProducts.
absl::Status CheckKgeProducts(const KgeShape& shape, const WeightedCheckpoint& point, const KgeInfluenceData& data,
                              const KgeInfluenceOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_CHECKS_H_
