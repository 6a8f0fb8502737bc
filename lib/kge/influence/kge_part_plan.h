// Which factors of gradients the parts of a product need (gradient_products.h, kge_products.h).

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// Gradients of the small tensors (norms, conv) lie beside each other in one row for each example, in the order of the
// slices. The first column of each; -1: the model has none of it.
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

struct KgePartPlan {
  // Columns of the small block that count for a part.
  struct Columns {
    int part;
    int64_t begin, end;
  };

  // parts: as SetParts takes them, of shape.Slices(). CHECK-fails on a slice that is not there, is a buffer or is in
  // two parts.
  KgePartPlan(const KgeShape& shape, absl::Span<const ProductPart> parts);

  int num_parts = 0;
  // The part of a tensor; -1: it does not count.
  int entity = -1, entity_bias = -1, relation = -1, fc_weight = -1, fc_bias = -1;
  std::vector<Columns> small;  // neighbors of one part are one range
  // Gradients of what is before fc are needed; of fc's result.
  bool below_fc = false, at_fc = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PART_PLAN_H_
