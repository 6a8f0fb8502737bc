// Finds which factors of gradients the parts of a product need (gradient_products.h, kge_products.h).

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// The columns of the small tensors' gradients (norms, conv), which are one row for each example, in the order of the
// slices. Each member is the tensor's first column; -1 if the model does not have it.
struct SmallColumns {
  explicit SmallColumns(const KgeShape& shape);

  int64_t bn0_weight = -1, bn0_bias = -1;
  int64_t conv_weight = -1, conv_bias = -1;
  int64_t bn1_weight = -1, bn1_bias = -1;
  int64_t bn2_weight = -1, bn2_bias = -1;
  int64_t size = 0;  // Q

  struct Tensor {
    int64_t offset;  // in the flat parameters
    int64_t begin, end;
  };
  std::vector<Tensor> tensors;
};

// The part of each tensor, and which gradients are needed.
struct KgePartPlan {
  // Columns of the small tensors that belong to a part.
  struct Columns {
    int part;
    int64_t begin, end;
  };

  // parts are those of GradientProducts::SetParts, with slices of shape.Slices(). CHECK-fails on a slice that does not
  // exist, is a buffer or is in two parts.
  KgePartPlan(const KgeShape& shape, absl::Span<const ProductPart> parts);

  int num_parts = 0;
  // The part of a tensor; -1: it is in no part.
  int entity = -1, entity_bias = -1, relation = -1, fc_weight = -1, fc_bias = -1;
  std::vector<Columns> small;  // neighboring columns of one part are one range
  // Whether gradients before fc are needed, and those of fc's result.
  bool below_fc = false, at_fc = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_
