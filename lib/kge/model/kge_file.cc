#include "lib/kge/model/kge_file.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/name_lines.h"
#include "lib/graph/triple_weights.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

absl::Status CheckNamesOf(KnowledgeGraph names) {
  if (names.entities.empty()) return absl::InvalidArgumentError("there are no entities");
  if (names.relations.empty()) return absl::InvalidArgumentError("there are no relations");
  names.train = {Triple{}};  // CheckGraph wants one, and there is none in a model
  return CheckGraph(names);
}

absl::StatusOr<KnowledgeGraph> ReadNames(const TensorFile& file) {
  KnowledgeGraph names;
  const std::string& inverse = file.metadata.at("inverse_relations");
  if (inverse != "true" && inverse != "false") {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"inverse_relations\" is ",
                                                   JsonQuote(inverse), ", expected true or false"));
  }
  names.inverse_relations = inverse == "true";
  ASSIGN_OR_RETURN(names.entities, NamesFromTensor(file, "entity_names"));
  ASSIGN_OR_RETURN(names.relations, NamesFromTensor(file, "relation_names"));
  if (file.tensors.Has("entity_labels")) {
    ASSIGN_OR_RETURN(names.entity_labels, NamesFromTensor(file, "entity_labels"));
  }
  if (file.tensors.Has("relation_labels")) {
    ASSIGN_OR_RETURN(names.relation_labels, NamesFromTensor(file, "relation_labels"));
  }
  ASSIGN_OR_RETURN(names.entity_types, EntityTypesFromFile(file, names.num_entities()));
  if (const absl::Status status = CheckNamesOf(names); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", status.message()));
  }
  return names;
}

absl::Status SliceError(const TensorFile& file, const ParameterSlice& slice, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"", slice.name, "\" ", what));
}

// Checks that the file has the tensor of a slice, of the right type and shape.
absl::Status CheckSlice(const TensorFile& file, const ParameterSlice& slice, DType dtype) {
  const Tensor* tensor = file.tensors.Find(slice.name);
  if (tensor == nullptr) return SliceError(file, slice, "is missing: this model has one");
  if (tensor->dtype() == dtype && tensor->shape() == slice.shape) return absl::OkStatus();
  return SliceError(file, slice,
                    absl::StrCat("is ", DescribeShape(tensor->dtype(), tensor->shape()), ", expected ",
                                 DescribeShape(dtype, slice.shape)));
}

// Returns what is wrong with parameters, or null.
template <typename T>
const char* FaultOf(absl::Span<const T> values, bool are_variances) {
  for (const T value : values) {
    if (!std::isfinite(value)) return "holds NaN or infinity";
    if (are_variances && value < 0) return "holds a negative variance";
  }
  return nullptr;
}

// Copies a slice's tensor, which CheckSlice has accepted, to its place in the flat parameters.
absl::Status CopySlice(const TensorFile& file, const ParameterSlice& slice, Tensor* parameters) {
  const Tensor* tensor = &file.tensors.At(slice.name);
  const bool are_variances = absl::EndsWith(slice.name, ".running_var");
  const char* const fault = tensor->dtype() == DType::kF64 ? FaultOf(tensor->values<double>(), are_variances)
                                                           : FaultOf(tensor->values<float>(), are_variances);
  if (fault != nullptr) return SliceError(file, slice, fault);
  std::memcpy(static_cast<char*>(parameters->mutable_data()) + slice.offset * ByteSize(tensor->dtype()), tensor->data(),
              tensor->num_bytes());
  return absl::OkStatus();
}

}  // namespace

const Schema& KgeSchema() {
  static const Schema& schema = *AddEntityTypeRules(new Schema{
      "kge/1",
      "A model of a knowledge graph, made by `train`. N entities, R relations, Q = R or, with their inverses, 2 R "
      "relations that queries name; embeddings of d numbers. A tail's score for (head, relation) is v · "
      "entity.weight[tail] + entity.bias[tail]. DistMult: v = e_h · w_r, element by element. ComplEx: rows are real "
      "parts, then imaginary parts; v is the complex product. RESCAL: v = e_h^T W, where w_r is the matrix W row by "
      "row. CP and SimplE: rows of entities are their vectors as heads, a, then as tails, b; CP: v = [0, a_h · w_r]; "
      "SimplE: "
      "w_r = [r, inverse of r], v = ½ [b_h · inverse of r, a_h · r]. TransE: v = e_h + w_r; RotatE: entities as for "
      "ComplEx, whose numbers v turns by the angles w_r; their score is minus the norm (distance_norm) of v - "
      "entity.weight[tail]. TuckER: v_j is the sum over k and i of core.weight[j, k, i] w_r[k] e_h[i]. Relations have "
      "D "
      "numbers: d, but d² for RESCAL, d/2 for CP and RotatE, and relation_embedding_dim for TuckER. ConvE (C "
      "channels, F = C · map height · map width "
      "features): v = relu(bn2(fc(relu(bn1(conv(bn0(image))))))), the image made of both embeddings, "
      "embedding_height × embedding_width each, one above the other (tiepin: side by side); norms have eps 1e-5. All "
      "weights are F32, or all F64.",
      {
          {"entity.weight", {DType::kF32, DType::kF64}, {"N", "d"}, true, "embeddings of entities"},
          {"entity.bias", {DType::kF32, DType::kF64}, {"N"}, false, "ConvE, but tiepin"},
          {"relation.weight", {DType::kF32, DType::kF64}, {"Q", "D"}, true, "of relations, then of their inverses"},
          {"core.weight", {DType::kF32, DType::kF64}, {"d", "D", "d"}, false, "TuckER: tails, relations, heads"},
          {"bn0.weight", {DType::kF32, DType::kF64}, {"1"}, false, "ConvE, but libkge; so bn0.bias"},
          {"bn0.running_mean", {DType::kF32, DType::kF64}, {"1"}, false, "likewise; so bn0.running_var"},
          {"conv.weight", {DType::kF32, DType::kF64}, {"C", "1", "kh", "kw"}, false, "ConvE; a cross-correlation"},
          {"conv.bias", {DType::kF32, DType::kF64}, {"C"}, false, "tiepin and libkge"},
          {"bn1.weight", {DType::kF32, DType::kF64}, {"C"}, false, "ConvE, but libkge; so bn1.bias"},
          {"bn1.running_mean", {DType::kF32, DType::kF64}, {"C"}, false, "ConvE; so bn1.running_var"},
          {"fc.weight", {DType::kF32, DType::kF64}, {"d", "F"}, false, "ConvE; features are [C][height][width]"},
          {"fc.bias", {DType::kF32, DType::kF64}, {"d"}, false, "ConvE"},
          {"bn2.weight", {DType::kF32, DType::kF64}, {"d"}, false, "ConvE, but libkge; so bn2.bias"},
          {"bn2.running_mean", {DType::kF32, DType::kF64}, {"d"}, false, "ConvE; so bn2.running_var"},
          {"entity_names", {DType::kU8}, {"EB"}, true, "as in the triples: a line for each"},
          {"relation_names", {DType::kU8}, {"RB"}, true, "likewise, R of them"},
          {"entity_labels", {DType::kU8}, {"LB"}, false, "names for people, likewise"},
          {"relation_labels", {DType::kU8}, {"MB"}, false, "likewise"},
          {"calibration.curve",
           {DType::kI32},
           {"2R"},
           false,
           "for probabilities: the curve of each relation's tails, then of each relation's heads"},
          {"calibration.begin", {DType::kI64}, {"CB"}, false, "where the points of each curve begin, and all end"},
          {"calibration.score", {DType::kF64}, {"CP"}, false, "points: a score; platt: the slope"},
          {"calibration.value", {DType::kF64}, {"CP"}, false, "its probability; platt: the offset"},
      },
      {
          {"kge_model", true, "conve, distmult, complex, rescal, cp, simple, transe, rotate or tucker"},
          {"inverse_relations", true, "`true`: relation R + r is the inverse of r"},
          {"vocabulary_sha256", true, "of the names in their order"},
          {"embedding_dim", true, "d"},
          {"relation_embedding_dim", false, "of tucker: D"},
          {"distance_norm", false, "of transe and rotate: 1 or 2"},
          {"kge_loss", true, "1-N, 1-of-N, 1vsAll or KvsAll"},
          {"label_smoothing", true, "eps"},
          {"label_smoothing_form", false, "dettmers, standard or pykeen, where eps is not 0"},
          {"input_dropout", true, "rate in training"},
          {"entity_dropout", false, "all but ConvE: rates of heads and, in relation_dropout, of relations"},
          {"candidate_dropout", false, "rate of the entities that queries were scored with"},
          {"group_queries", false, "`true`, where 1vsAll learned from heads and relations with all their tails"},
          {"negatives_per_batch", false, "of the sampled softmax, where training did not score all entities"},
          {"negatives_by", false, "frequency or type, unless they were drawn uniformly"},
          {"regularizer", false, "n3, f2, l3 or dura, where training added one to its loss"},
          {"regularization", false, "its weight"},
          {"relation_prediction", false, "weight of the loss of relations, where training added it"},
          {"negative_weight", false, "what losses of known-false triples were multiplied by, unless 1"},
          {"init", false, "normal:DEVIATION or uniform:BOUND, where embeddings were drawn so"},
          {"conve_variant", false, "ConvE: dettmers, tiepin or libkge"},
          {"embedding_height", false, "ConvE; so embedding_width, output_channels, kernel_height, kernel_width"},
          {"feature_map_dropout", false, "ConvE; so output_dropout"},
          {"train_sha256", false, "of the training triples as a set, by name"},
          {"valid_sha256", false, "of those that chose the best epoch; so test_sha256, of those that were kept"},
          {"weights_sha256", false, "of the weights of triples and of the known-false triples, if there were any"},
          {"imported_from", false, "TiePin or PyKEEN: the project that trained it"},
          {"loss_given", false, "`true`, where an imported model's kge_loss is known; else it is a guess"},
          {"init_from", false, "the model that training started from, and its SHA-256"},
          {"new_entities", false,
           "how many of the last entities were folded in after training (evaluate --new_triples); so "
           "new_entities_command and new_entities_inputs of the last time"},
          {"calibration", false,
           "platt or isotonic: how probabilities were fitted; so calibration_base_rate, calibration_triples (their "
           "hash, as "
           "valid_sha256) and calibration_among, the entities that false answers were drawn from"},
          {"calibration_among_tails_sha256", false,
           "of the candidates of all relations, unless all entities; so calibration_among_heads_sha256"},
          {"epoch", false, "after which this model was written"},
          {"run_ended", false,
           "`true`: by its own limits; `false`: the run that wrote it was still going, or was stopped"},
          {"loss", false, "best of the run: the value that decided, validation loss or metric"},
      }});
  return schema;
}

std::string VocabularySha256(const KnowledgeGraph& graph) {
  Sha256 sha256;
  sha256.Update(absl::StrCat("vocabulary\n", graph.num_entities(), " ", graph.num_relations(), " ",
                             graph.inverse_relations ? "inverse" : "plain", "\n"));
  for (const std::vector<std::string>* names : {&graph.entities, &graph.relations}) {
    for (const std::string& name : *names) {
      sha256.Update(name);
      sha256.Update("\n");
    }
  }
  return sha256.HexDigest();
}

absl::Status WriteKgeModel(absl::string_view path, const TrainedKge& model) {
  CHECK_EQ(model.parameters.num_elements(), model.shape.offsets().size);
  CHECK_EQ(model.shape.num_entities, model.names.num_entities());
  CHECK_EQ(model.shape.num_relations, model.names.num_query_relations());
  if (const absl::Status status = CheckNamesOf(model.names); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not written: ", status.message()));
  }
  NamedTensors tensors;
  for (const ParameterSlice& slice : model.shape.Slices()) {
    tensors.Set(slice.name, model.parameters.Slice(slice.offset, slice.shape));
  }
  tensors.Set("entity_names", NamesToTensor(model.names.entities));
  tensors.Set("relation_names", NamesToTensor(model.names.relations));
  if (!model.names.entity_labels.empty()) tensors.Set("entity_labels", NamesToTensor(model.names.entity_labels));
  if (!model.names.relation_labels.empty()) tensors.Set("relation_labels", NamesToTensor(model.names.relation_labels));
  SetEntityTypes(model.names.entity_types, &tensors);
  for (const auto& [name, tensor] : model.calibration) tensors.Set(name, tensor);
  Metadata metadata = model.metadata;
  metadata["kind"] = KgeSchema().kind;
  metadata["inverse_relations"] = model.names.inverse_relations ? "true" : "false";
  metadata["vocabulary_sha256"] = VocabularySha256(model.names);
  for (const auto& [key, value] : DescribeKgeOptions(model.shape.options)) metadata[key] = value;
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<TrainedKge> ReadKgeModel(absl::string_view path) {
  const ProfileScope scope(Stage::kRead);
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  RETURN_IF_ERROR(CheckSchema(KgeSchema(), file).status());
  TrainedKge model;
  model.metadata = file.metadata;
  ASSIGN_OR_RETURN(model.names, ReadNames(file));
  const absl::StatusOr<KgeOptions> options = ParseKgeOptions(file.metadata);
  if (!options.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": metadata: ", options.status().message()));
  }
  if (const std::string sha256 = VocabularySha256(model.names); sha256 != file.metadata.at("vocabulary_sha256")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the names have SHA-256 ", sha256, ", expected ",
                                                   file.metadata.at("vocabulary_sha256"),
                                                   " (metadata \"vocabulary_sha256\"): the file was changed"));
  }
  model.shape = {*options, model.names.num_entities(), model.names.num_query_relations()};
  model.shape.options.precision = file.tensors.At("entity.weight").dtype();
  // Tensors are checked before memory is allocated, since sizes in the metadata may have any value.
  const std::vector<ParameterSlice> slices = model.shape.Slices();
  for (const ParameterSlice& slice : slices) RETURN_IF_ERROR(CheckSlice(file, slice, model.shape.options.precision));
  model.parameters = Tensor::Zeros(model.shape.options.precision, {model.shape.offsets().size});
  for (const ParameterSlice& slice : slices) RETURN_IF_ERROR(CopySlice(file, slice, &model.parameters));
  for (const auto& [name, tensor] : file.tensors) {
    if (absl::StartsWith(name, absl::StrCat(kCalibrationPrefix, "."))) model.calibration.Set(name, tensor);
  }
  return model;
}

absl::Status CheckSameVocabulary(const TrainedKge& model, const KnowledgeGraph& graph) {
  const auto differ = [](absl::string_view what, const std::vector<std::string>& of_model,
                         const std::vector<std::string>& of_graph) -> absl::Status {
    for (size_t id = 0; id < of_model.size() && id < of_graph.size(); ++id) {
      if (of_model[id] == of_graph[id]) continue;
      return absl::InvalidArgumentError(absl::StrCat("the model was trained with other names: ", what, " ", id, " is ",
                                                     JsonQuote(of_model[id]), " in the model and ",
                                                     JsonQuote(of_graph[id]), " in the triples"));
    }
    if (of_model.size() == of_graph.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the model was trained with other names: it knows ", of_model.size(),
                                                   " ", what, " names, the triples have ", of_graph.size()));
  };
  RETURN_IF_ERROR(differ("entity", model.names.entities, graph.entities));
  RETURN_IF_ERROR(differ("relation", model.names.relations, graph.relations));
  const std::vector<std::string>&of_model = model.names.relation_labels, &of_graph = graph.relation_labels;
  for (size_t id = 0; id < of_model.size() && id < of_graph.size(); ++id) {
    if (of_model[id] == of_graph[id]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the model was trained with other relations: relation ", id, ", ", JsonQuote(graph.relations[id]), ", is ",
        JsonQuote(of_model[id]), " in the model and ", JsonQuote(of_graph[id]),
        " in the triples; featurize --edge_map=MAP, the map of the model's triples, gives relations the same names"));
  }
  if (model.names.inverse_relations == graph.inverse_relations) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model was trained ", model.names.inverse_relations ? "with" : "without", " inverse relations, the triples ",
      "were made ", graph.inverse_relations ? "with" : "without", " them"));
}

Metadata DescribeSplits(const KnowledgeGraph& graph) {
  Metadata splits = {{"train_sha256", TripleSetSha256(graph, graph.train)},
                     {"valid_sha256", TripleSetSha256(graph, graph.valid)},
                     {"test_sha256", TripleSetSha256(graph, graph.test)}};
  if (std::string weights = WeightsSha256(graph); !weights.empty()) splits["weights_sha256"] = std::move(weights);
  return splits;
}

std::vector<std::string> SplitWarnings(const Metadata& model, const KnowledgeGraph& graph, absl::string_view split) {
  const auto train = model.find("train_sha256"), valid = model.find("valid_sha256");
  if (train == model.end()) return {};
  std::vector<std::string> warnings;
  if (TripleSetSha256(graph, graph.train) != train->second) {
    warnings.push_back(absl::StrCat("the model learned from other training triples than these: it may know ", split,
                                    " triples from there, and known answers are other ones"));
  }
  if (split == "train") return warnings;
  const std::vector<Triple>& ranked = split == "test" ? graph.test : graph.valid;
  if (ranked.empty()) return warnings;
  const std::string hash = TripleSetSha256(graph, ranked);
  if (hash == train->second) {
    warnings.push_back(absl::StrCat("the ", split, " triples are those that the model learned from"));
  } else if (split == "test" && valid != model.end() && hash == valid->second) {
    warnings.push_back("the test triples are those of the validation that chose the model");
  }
  return warnings;
}

}  // namespace rutile
