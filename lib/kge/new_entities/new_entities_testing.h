// Small models of all kinds with random parameters, for the tests of this package.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_NEW_ENTITIES_TESTING_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_NEW_ENTITIES_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/random.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {

// Returns a model with entities e0, e1 ... and relations r0, r1 ..., with inverses.
inline TrainedKge SmallModel(KgeModel kind, KgeLoss loss, int64_t num_entities, int64_t num_relations,
                             DType precision = DType::kF64, ConveVariant variant = ConveVariant::kDettmers) {
  TrainedKge model;
  KgeOptions& options = model.shape.options;
  options.model = kind;
  options.variant = variant;
  options.loss = loss;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.relation_embedding_dim = 5;
  options.precision = precision;
  options.init = {EmbeddingInitKind::kNormal, 0.7};
  model.shape.num_entities = num_entities;
  model.shape.num_relations = 2 * num_relations;
  for (int64_t e = 0; e < num_entities; ++e) model.names.entities.push_back(absl::StrCat("e", e));
  for (int64_t r = 0; r < num_relations; ++r) model.names.relations.push_back(absl::StrCat("r", r));
  std::vector<double> values = InitialKgeParameters(model.shape, /*seed=*/3);
  // Biases that differ, and norms that are not the identity.
  RandomStream random(5, "new_entities_testing");
  for (const ParameterSlice& slice : model.shape.Slices()) {
    if (slice.name == "entity.weight" || slice.name == "relation.weight") continue;
    for (int64_t k = 0; k < slice.num_elements(); ++k) values[slice.offset + k] += 0.2 * random.Uniform();
  }
  model.parameters = TensorOfDoubles(precision, values);
  return model;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_NEW_ENTITIES_TESTING_H_
