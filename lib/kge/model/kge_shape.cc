#include "lib/kge/model/kge_shape.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace rutile {
namespace {

// Assigns each parameter its place, so that one list defines both offsets and names.
class Layout {
 public:
  explicit Layout(const KgeShape& shape) {
    const int64_t n = shape.num_entities, d = shape.dim();
    AddTable(&offsets_.entity, "entity.weight", {n, d});
    if (shape.has_entity_bias()) AddTable(&offsets_.entity_bias, "entity.bias", {n});
    AddTable(&offsets_.relation, "relation.weight", {shape.num_relations, shape.relation_dim()});
    if (shape.is_conve()) AddConve(shape);
    if (shape.is_tucker()) Add(&offsets_.fc_weight, "core.weight", {d, shape.relation_dim(), d});
    offsets_.size = end_;
  }

  const KgeShape::Offsets& offsets() const { return offsets_; }
  std::vector<ParameterSlice> TakeSlices() { return std::move(slices_); }

 private:
  void AddConve(const KgeShape& shape) {
    const KgeOptions& options = shape.options;
    const int64_t channels = options.output_channels, d = shape.dim();
    const bool affine = shape.has_affine_norms();
    if (shape.has_input_norm()) {
      AddNorm("bn0", affine, 1, &offsets_.bn0_weight, &offsets_.bn0_bias, &offsets_.bn0_mean, &offsets_.bn0_variance);
    }
    Add(&offsets_.conv_weight, "conv.weight", {channels, 1, options.kernel_height, options.kernel_width});
    if (shape.has_conv_bias()) Add(&offsets_.conv_bias, "conv.bias", {channels});
    AddNorm("bn1", affine, channels, &offsets_.bn1_weight, &offsets_.bn1_bias, &offsets_.bn1_mean,
            &offsets_.bn1_variance);
    Add(&offsets_.fc_weight, "fc.weight", {d, shape.num_features()});
    Add(&offsets_.fc_bias, "fc.bias", {d});
    AddNorm("bn2", affine, d, &offsets_.bn2_weight, &offsets_.bn2_bias, &offsets_.bn2_mean, &offsets_.bn2_variance);
  }

  void AddNorm(absl::string_view name, bool affine, int64_t size, int64_t* weight, int64_t* bias, int64_t* mean,
               int64_t* variance) {
    if (affine) {
      Add(weight, absl::StrCat(name, ".weight"), {size});
      Add(bias, absl::StrCat(name, ".bias"), {size});
    }
    Add(mean, absl::StrCat(name, ".running_mean"), {size}, /*buffer=*/true);
    Add(variance, absl::StrCat(name, ".running_var"), {size}, /*buffer=*/true);
  }

  void AddTable(int64_t* offset, std::string name, std::vector<int64_t> shape) {
    Add(offset, std::move(name), std::move(shape));
    slices_.back().table = true;
  }

  void Add(int64_t* offset, std::string name, std::vector<int64_t> shape, bool buffer = false) {
    *offset = end_;
    slices_.push_back({std::move(name), *offset, std::move(shape), buffer});
    end_ += slices_.back().num_elements();
  }

  KgeShape::Offsets offsets_;
  std::vector<ParameterSlice> slices_;
  int64_t end_ = 0;
};

}  // namespace

KgeShape::Offsets KgeShape::offsets() const { return Layout(*this).offsets(); }

std::vector<ParameterSlice> KgeShape::Slices() const { return Layout(*this).TakeSlices(); }

}  // namespace rutile
