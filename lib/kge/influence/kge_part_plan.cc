#include "lib/kge/influence/kge_part_plan.h"

#include "lib/base/logging.h"

namespace rutile {

SmallColumns::SmallColumns(const KgeShape& shape) {
  const KgeShape::Offsets at = shape.offsets();
  const std::vector<ParameterSlice> slices = shape.Slices();
  const auto add = [&](int64_t offset, int64_t* column) {
    if (offset < 0) return;
    for (const ParameterSlice& slice : slices) {
      if (slice.offset != offset) continue;
      *column = size;
      size += slice.num_elements();
      tensors.push_back({offset, *column, size});
    }
  };
  add(at.bn0_weight, &bn0_weight);
  add(at.bn0_bias, &bn0_bias);
  add(at.conv_weight, &conv_weight);
  add(at.conv_bias, &conv_bias);
  add(at.bn1_weight, &bn1_weight);
  add(at.bn1_bias, &bn1_bias);
  add(at.bn2_weight, &bn2_weight);
  add(at.bn2_bias, &bn2_bias);
}

KgePartPlan::KgePartPlan(const KgeShape& shape, absl::Span<const ProductPart> parts)
    : num_parts(static_cast<int>(parts.size())) {
  const KgeShape::Offsets at = shape.offsets();
  const std::vector<ParameterSlice> slices = shape.Slices();
  std::vector<int> part_of(slices.size(), -1);
  for (int p = 0; p < num_parts; ++p) {
    for (const int s : parts[p].slices) {
      CHECK(s >= 0 && s < static_cast<int>(slices.size()) && !slices[s].buffer) << parts[p].name << ": slice " << s;
      CHECK_EQ(part_of[s], -1) << slices[s].name << " is in two parts";
      part_of[s] = p;
    }
  }
  const SmallColumns columns(shape);
  for (size_t s = 0; s < slices.size(); ++s) {
    const int part = part_of[s];
    if (part < 0) continue;
    const int64_t offset = slices[s].offset;
    if (offset == at.entity) entity = part;
    if (offset == at.entity_bias) entity_bias = part;
    if (offset == at.relation) relation = part;
    if (offset == at.fc_weight) fc_weight = part;
    if (offset == at.fc_bias) fc_bias = part;
    for (const SmallColumns::Tensor& tensor : columns.tensors) {
      if (tensor.offset != offset) continue;
      if (!small.empty() && small.back().part == part && small.back().end == tensor.begin) {
        small.back().end = tensor.end;
      } else {
        small.push_back({part, tensor.begin, tensor.end});
      }
    }
    const bool of_bn2 = shape.is_conve() && (offset == at.bn2_weight || offset == at.bn2_bias);
    const bool of_fc = shape.has_features() && (offset == at.fc_weight || offset == at.fc_bias);
    below_fc = below_fc || (!of_bn2 && !of_fc && offset != at.entity_bias);
    at_fc = at_fc || of_bn2 || of_fc;
  }
}

}  // namespace rutile
