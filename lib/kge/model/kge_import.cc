#include "lib/kge/model/kge_import.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_options.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {
namespace {

// A project's names of tensors; those of norms and layers are prefixes of ".weight" and so on.
struct StateNames {
  const char* project = "";
  ConveVariant variant = ConveVariant::kDettmers;
  std::string entity, entity_bias, relation, bn0, conv, bn1, fc, bn2;
};

// PyKEEN numbers the layers that a model has, so that the convolution's number is one less if there is no dropout
// before it. Layers are therefore recognized by the tensors that they hold.
void FindPykeenLayers(const TensorFile& file, StateNames* names) {
  std::map<int, std::string> norms;
  int conv = 0;
  for (const auto& [name, tensor] : file.tensors) {
    absl::string_view rest = name;
    const bool before_fc = absl::ConsumePrefix(&rest, "interaction.hr2d.");
    if (!before_fc && !absl::ConsumePrefix(&rest, "interaction.hr1d.")) continue;
    const std::string layer = name.substr(0, name.rfind('.'));
    int number = 0;
    if (!absl::SimpleAtoi(rest.substr(0, rest.find('.')), &number)) continue;
    if (absl::EndsWith(name, ".weight") && tensor.rank() == 4) {
      names->conv = layer;
      conv = number;
    } else if (absl::EndsWith(name, ".weight") && tensor.rank() == 2) {
      names->fc = layer;
    } else if (absl::EndsWith(name, ".running_mean")) {
      if (before_fc) {
        norms[number] = layer;
      } else {
        names->bn2 = layer;
      }
    }
  }
  for (const auto& [number, layer] : norms) (number < conv ? names->bn0 : names->bn1) = layer;
}

// Returns the project's names; their `project` is empty if no project uses the file's names.
StateNames FindNames(const TensorFile& file) {
  StateNames names;
  if (file.tensors.Has("entity_representations.0._embeddings.weight")) {
    names.project = "PyKEEN";
    names.entity = "entity_representations.0._embeddings.weight";
    names.entity_bias = "entity_representations.1._embeddings.weight";
    names.relation = "relation_representations.0._embeddings.weight";
    FindPykeenLayers(file, &names);
    return names;
  }
  names.bn0 = "bn0";
  names.conv = "conv1";
  names.bn1 = "bn1";
  names.fc = "fc";
  names.bn2 = "bn2";
  if (file.tensors.Has("entity_embeddings.weight")) {
    names.project = "TiePin";
    names.variant = ConveVariant::kTiepin;
    names.entity = "entity_embeddings.weight";
    names.relation = "relation_embeddings.weight";
  }
  return names;
}

class Reader {
 public:
  explicit Reader(const TensorFile& file) : file_(file) {}

  absl::Status Error(absl::string_view name, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(file_.path, ": tensor \"", name, "\" ", what));
  }

  // Returns the tensor of that name, which must have `rank` dimensions.
  absl::StatusOr<const Tensor*> Find(const std::string& name, int rank) const {
    const Tensor* tensor = file_.tensors.Find(name);
    if (tensor == nullptr) return Error(name, "is missing");
    if (tensor->rank() != rank || tensor->num_elements() == 0) {
      return Error(name, absl::StrCat("has the shape [", absl::StrJoin(tensor->shape(), ","), "], expected ", rank,
                                      rank == 1 ? " dimension" : " dimensions"));
    }
    return tensor;
  }

  // Checks that the tensor of that name has `size` numbers of a type that is read.
  absl::Status CheckSize(const std::string& name, int64_t size) const {
    const Tensor* tensor = file_.tensors.Find(name);
    if (tensor == nullptr) return Error(name, "is missing");
    if (tensor->dtype() != DType::kF32 && tensor->dtype() != DType::kF64) {
      return Error(name,
                   absl::StrCat("is ", DTypeName(tensor->dtype()), ", expected F32 or F64: save it with .float()"));
    }
    if (tensor->num_elements() != size) {
      return Error(name, absl::StrCat("has the shape [", absl::StrJoin(tensor->shape(), ","), "], expected ", size,
                                      size == 1 ? " number" : " numbers"));
    }
    return absl::OkStatus();
  }

  // Returns the values of the tensor of that name, of which there must be `size`.
  absl::StatusOr<std::vector<double>> Values(const std::string& name, int64_t size) const {
    RETURN_IF_ERROR(CheckSize(name, size));
    std::vector<double> values = file_.tensors.At(name).ToDoubles();
    for (const double value : values) {
      if (!std::isfinite(value)) return Error(name, "holds NaN or infinity");
      if (value < 0 && absl::EndsWith(name, ".running_var")) return Error(name, "holds a negative variance");
    }
    return values;
  }

 private:
  const TensorFile& file_;
};

std::string SizeName(int64_t height, int64_t width) { return absl::StrCat(height, " x ", width); }

// Finds height and width of an embedding's image: the dimension gives their product, and the number of features gives
// the size of the map.
absl::Status FindImage(const TensorFile& file, int64_t features, int64_t given_height, KgeShape* shape) {
  KgeOptions& options = shape->options;
  std::vector<std::pair<int64_t, int64_t>> fitting;
  for (int64_t height = 1; height <= options.embedding_dim; ++height) {
    if (options.embedding_dim % height != 0) continue;
    options.embedding_height = height;
    options.embedding_width = options.embedding_dim / height;
    const bool fits = shape->map_height() > 0 && shape->map_width() > 0 && shape->num_features() == features;
    if (fits && (given_height == 0 || given_height == height)) fitting.emplace_back(height, options.embedding_width);
  }
  if (fitting.size() == 1) {
    options.embedding_height = fitting[0].first;
    options.embedding_width = fitting[0].second;
    return absl::OkStatus();
  }
  if (fitting.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": no image of ", options.embedding_dim, " numbers",
                     given_height > 0 ? absl::StrCat(" with --embedding_height=", given_height) : "",
                     ", stacked along its ", shape->stacked_in_width() ? "width" : "height", ", gives the ", features,
                     " features of the layer after the convolution"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      file.path, ": images of ",
      absl::StrJoin(
          fitting, ", ",
          [](std::string* out, const auto& image) { absl::StrAppend(out, SizeName(image.first, image.second)); }),
      " (height x width) have as many features as the model: say which it was trained with, --embedding_height=",
      fitting[0].first, " or another of these"));
}

}  // namespace

bool IsForeignKge(const TensorFile& file) {
  return file.metadata.find("kind") == file.metadata.end() && *FindNames(file).project != '\0';
}

absl::StatusOr<ForeignKge> ReadForeignKge(const TensorFile& file, int64_t embedding_height) {
  const StateNames names = FindNames(file);
  const Reader reader(file);
  ForeignKge foreign;
  foreign.project = names.project;
  foreign.path = file.path;
  KgeShape& shape = foreign.shape;
  KgeOptions& options = shape.options;
  options.variant = names.variant;
  options.input_dropout = options.feature_map_dropout = options.output_dropout = options.label_smoothing = 0;
  foreign.loss_known = names.variant == ConveVariant::kTiepin;
  options.loss = names.variant == ConveVariant::kTiepin ? KgeLoss::kOneOfN : KgeLoss::kOneToN;
  if (names.conv.empty() || names.fc.empty() || names.bn0.empty() || names.bn1.empty() || names.bn2.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": has the names of ", names.project,
                     ", but not the convolution, the linear layer and the three batch norms of a ConvE"));
  }
  ASSIGN_OR_RETURN(const Tensor* entity, reader.Find(names.entity, 2));
  ASSIGN_OR_RETURN(const Tensor* relation, reader.Find(names.relation, 2));
  ASSIGN_OR_RETURN(const Tensor* conv, reader.Find(names.conv + ".weight", 4));
  ASSIGN_OR_RETURN(const Tensor* fc, reader.Find(names.fc + ".weight", 2));
  shape.num_entities = entity->dim(0);
  shape.num_relations = relation->dim(0);
  options.precision = entity->dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  options.embedding_dim = entity->dim(1);
  options.output_channels = conv->dim(0);
  options.kernel_height = conv->dim(2);
  options.kernel_width = conv->dim(3);
  RETURN_IF_ERROR(FindImage(file, fc->dim(1), embedding_height, &shape));
  RETURN_IF_ERROR(CheckKgeOptions(options));
  foreign.interleaved = absl::string_view(names.project) == "PyKEEN";

  const std::map<std::string, std::string> sources = {
      {"entity.weight", names.entity},     {"relation.weight", names.relation}, {"conv.weight", names.conv + ".weight"},
      {"conv.bias", names.conv + ".bias"}, {"fc.weight", names.fc + ".weight"}, {"fc.bias", names.fc + ".bias"},
  };
  const auto source_of = [&](const ParameterSlice& slice) {
    if (const auto found = sources.find(slice.name); found != sources.end()) return found->second;
    if (slice.name == "entity.bias") return std::string(names.entity_bias);
    const std::string& norm = absl::StartsWith(slice.name, "bn0")   ? names.bn0
                              : absl::StartsWith(slice.name, "bn1") ? names.bn1
                                                                    : names.bn2;
    return absl::StrCat(norm, slice.name.substr(slice.name.find('.')));
  };
  // Projects leave these out if they were not asked for.
  const auto may_be_missing = [](const ParameterSlice& slice) {
    return slice.name == "conv.bias" || slice.name == "entity.bias";
  };
  const std::vector<ParameterSlice> slices = shape.Slices();
  // Sizes are compared before memory is taken: shapes of single tensors bound each dimension, but not their products.
  for (const ParameterSlice& slice : slices) {
    const std::string source = source_of(slice);
    if (may_be_missing(slice) && !file.tensors.Has(source)) continue;
    RETURN_IF_ERROR(reader.CheckSize(source, slice.num_elements()));
  }
  std::vector<double> parameters(shape.offsets().size, 0);
  for (const ParameterSlice& slice : slices) {
    const std::string source = source_of(slice);
    if (may_be_missing(slice) && !file.tensors.Has(source)) continue;
    ASSIGN_OR_RETURN(std::vector<double> values, reader.Values(source, slice.num_elements()));
    if (slice.name == "bn1.running_mean" && !shape.has_conv_bias() && file.tensors.Has(names.conv + ".bias")) {
      ASSIGN_OR_RETURN(const std::vector<double> bias, reader.Values(names.conv + ".bias", slice.num_elements()));
      for (size_t c = 0; c < values.size(); ++c) values[c] -= bias[c];
    }
    std::copy(values.begin(), values.end(), parameters.begin() + slice.offset);
  }
  foreign.parameters = TensorOfDoubles(options.precision, parameters);
  return foreign;
}

absl::StatusOr<TrainedKge> NameForeignKge(const ForeignKge& foreign, const KnowledgeGraph& graph) {
  const KgeShape& shape = foreign.shape;
  if (shape.num_entities != graph.num_entities() || shape.num_relations != graph.num_query_relations()) {
    std::string hint =
        "featurize the triples with the id files that it was trained with (--entity_to_id, --relation_to_id)";
    if (shape.num_entities == graph.num_entities() &&
        (shape.num_relations == graph.num_relations() || shape.num_relations == 2 * graph.num_relations())) {
      hint =
          absl::StrCat("featurize the triples with --inverse_relations=", graph.inverse_relations ? "false" : "true");
    }
    return absl::InvalidArgumentError(
        absl::StrCat(foreign.path, ": this model of ", foreign.project, " has ", shape.num_entities, " entities and ",
                     shape.num_relations, " relations, the triples have ", graph.num_entities(), " and ",
                     graph.num_query_relations(), graph.inverse_relations ? " with their inverses: " : ": ", hint));
  }
  TrainedKge model;
  model.shape = shape;
  model.names = graph;
  model.names.train.clear();
  model.names.valid.clear();
  model.names.test.clear();
  model.metadata["imported_from"] = foreign.project;
  if (foreign.loss_known) model.metadata["loss_given"] = "true";
  std::vector<double> values = foreign.parameters.ToDoubles();
  if (foreign.interleaved && graph.inverse_relations) {
    const std::vector<double> from = values;
    const int64_t d = shape.dim(), r = graph.num_relations();
    const auto begin = from.begin() + shape.offsets().relation;
    const auto out = values.begin() + shape.offsets().relation;
    for (int64_t row = 0; row < 2 * r; ++row) {
      std::copy(begin + row * d, begin + (row + 1) * d, out + (row / 2 + (row % 2) * r) * d);
    }
  }
  model.parameters = TensorOfDoubles(foreign.parameters.dtype(), values);
  return model;
}

absl::Status CheckLossIsKnown(const Metadata& metadata, absl::string_view path, absl::string_view needs) {
  const auto project = metadata.find("imported_from");
  // Files of TiePin's models of before the key was written have the one loss that TiePin has.
  if (project == metadata.end() || project->second == "TiePin") return absl::OkStatus();
  if (const auto given = metadata.find("loss_given"); given != metadata.end() && given->second == "true") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is a model of ", project->second, " whose loss is not known, and ", needs,
      " needs it: import it again with the loss that it was trained with (rutile.import_pykeen --loss=1vsAll, KvsAll "
      "or 1-N; for ConvE evaluate --kge_loss --output_model)"));
}

}  // namespace rutile
