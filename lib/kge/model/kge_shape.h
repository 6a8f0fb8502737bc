// Sizes of a model, and where each of its parameters lies in the flat tensor.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_SHAPE_H_
#define RUTILE_LIB_KGE_MODEL_KGE_SHAPE_H_

#include <cstdint>
#include <vector>

#include "lib/kge/model/kge_options.h"
#include "lib/task/parameter_slice.h"

namespace rutile {

// The sizes of a model, and the layout of its flat parameters.
struct KgeShape {
  KgeOptions options;
  int64_t num_entities = 0;   // N
  int64_t num_relations = 0;  // relations of queries: R, or 2 R with inverses

  int64_t dim() const { return options.embedding_dim; }  // d
  // Numbers in a row of relations, D: d, but d x d for RESCAL, d / 2 for CP and RotatE, relation_embedding_dim for
  // TuckER.
  int64_t relation_dim() const {
    if (options.model == KgeModel::kRescal) return dim() * dim();
    if (is_tucker()) return options.relation_embedding_dim;
    return options.model == KgeModel::kCp || options.model == KgeModel::kRotatE ? dim() / 2 : dim();
  }
  bool stacked_in_width() const { return options.variant == ConveVariant::kTiepin; }
  int64_t image_height() const { return options.embedding_height * (stacked_in_width() ? 1 : 2); }
  int64_t image_width() const { return options.embedding_width * (stacked_in_width() ? 2 : 1); }
  int64_t map_height() const { return image_height() - options.kernel_height + 1; }
  int64_t map_width() const { return image_width() - options.kernel_width + 1; }
  int64_t map_size() const { return map_height() * map_width(); }
  // F: what fc sees, flattened [C][OH][OW]; TuckER: products w_r,k e_h,i, [D][d], which the core tensor sees.
  int64_t num_features() const { return is_tucker() ? relation_dim() * dim() : options.output_channels * map_size(); }
  bool is_tucker() const { return options.model == KgeModel::kTucker; }
  // True if v is made of F features by a matrix [d, F] at Offsets::fc_weight.
  bool has_features() const { return is_conve() || is_tucker(); }
  bool is_conve() const { return options.model == KgeModel::kConvE; }
  bool has_input_norm() const { return is_conve() && options.variant != ConveVariant::kLibkge; }
  bool has_affine_norms() const { return is_conve() && options.variant != ConveVariant::kLibkge; }
  bool has_conv_bias() const { return is_conve() && options.variant != ConveVariant::kDettmers; }
  bool has_entity_bias() const { return is_conve() && options.variant != ConveVariant::kTiepin; }

  // Where each parameter begins in the flat tensor, in the order of Slices; -1 if this model does not have it.
  struct Offsets {
    int64_t entity = -1;                                                       // entity.weight [N, d]
    int64_t entity_bias = -1;                                                  // entity.bias [N]
    int64_t relation = -1;                                                     // relation.weight [num_relations, D]
    int64_t bn0_weight = -1, bn0_bias = -1, bn0_mean = -1, bn0_variance = -1;  // [1]
    int64_t conv_weight = -1;                                                  // [C, 1, kh, kw]
    int64_t conv_bias = -1;                                                    // [C]
    int64_t bn1_weight = -1, bn1_bias = -1, bn1_mean = -1, bn1_variance = -1;  // [C]
    int64_t fc_weight = -1;                                                    // [d, F]; TuckER: core.weight [d, D, d]
    int64_t fc_bias = -1;                                                      // [d]
    int64_t bn2_weight = -1, bn2_bias = -1, bn2_mean = -1, bn2_variance = -1;  // [d]
    int64_t size = 0;                                                          // P
  };
  Offsets offsets() const;
  // Returns the parameters of Offsets with their names. "bn0.running_mean" and "bn0.running_var" (bn1, bn2) are buffers
  // (ParameterSlice::buffer).
  std::vector<ParameterSlice> Slices() const;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_SHAPE_H_
