#include "lib/potential/model/potential_file.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/all_finite.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/mace/mace_file.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr char kInnerName[] = "repulsion_inner", kOuterName[] = "repulsion_outer";
constexpr char kWithRepulsion[] = "potential/2";
constexpr char kWithVectors[] = "potential/3";

std::string MomentName(const DescriptorOptions& descriptor, int species, absl::string_view what) {
  return absl::StrCat("moments.", ElementSymbol(descriptor.species()[species]), ".", what);
}

std::string LayerName(const DescriptorOptions& descriptor, int species, int layer, absl::string_view what) {
  return absl::StrCat("network.", ElementSymbol(descriptor.species()[species]), ".", layer, ".", what);
}

// Appends the slices of one species and layer, whose parameters begin at `offset` in the flat array. prefix: of names.
void AppendSlices(const DescriptorOptions& descriptor, const NetworkShape& layer, int species, int64_t offset,
                  absl::string_view prefix, std::vector<ParameterSlice>* slices) {
  const int64_t shift = offset - species * layer.parameters_per_species();
  const auto append = [&](const std::string& name, int64_t at, const std::vector<int64_t>& shape) {
    slices->push_back({absl::StrCat(prefix, name), at + shift, shape});
  };
  if (layer.has_moments()) {
    const MomentShape& m = layer.moments;
    append(MomentName(descriptor, species, "radial"), layer.radial_offset(species),
           {m.channels, m.max_l + 1, layer.num_sources(), m.num_radial});
    append(MomentName(descriptor, species, "product"), layer.product_offset(species), {m.channels, m.num_products()});
    append(MomentName(descriptor, species, "linear"), layer.linear_offset(species), {m.channels});
  }
  for (int l = 0; l < layer.num_layers(); ++l) {
    const int64_t in = layer.layer_inputs(l), out = layer.layer_outputs(l);
    append(WeightName(descriptor, species, l), layer.weight_offset(species, l), {out, in});
    append(BiasName(descriptor, species, l), layer.bias_offset(species, l), {out});
  }
}

// The numbers that the metadata tell of a many-body potential: of messages, there are none in one layer.
struct LayerSizes {
  int channels = 0, messages = 0, vectors = 0;
};

// A file of two layers has its channels in another place than one of one layer, and one with vectors is of another
// kind, so that programs which do not know these refuse it.
absl::StatusOr<LayerSizes> ParseLayers(const Metadata& metadata) {
  LayerSizes sizes;
  const bool has_vectors = metadata.at("kind") == kWithVectors;
  const auto layers = metadata.find("layers");
  if (layers != metadata.end()) {
    const std::vector<absl::string_view> parts = absl::StrSplit(layers->second, ',');
    if (parts.size() == (has_vectors ? 3 : 2) && absl::SimpleAtoi(parts[0], &sizes.channels) &&
        absl::SimpleAtoi(parts[1], &sizes.messages) && sizes.channels >= 1 && sizes.messages >= 1 &&
        (!has_vectors || (absl::SimpleAtoi(parts[2], &sizes.vectors) && sizes.vectors >= 1))) {
      return sizes;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"layers\" is \"", layers->second, "\", expected the numbers of channels",
                     has_vectors ? ", messages and vectors, as in 64,16,16" : " and messages, as in 64,16"));
  }
  if (has_vectors) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"layers\" is missing, which a file of kind ", kWithVectors, " has, as in 64,16,16"));
  }
  const auto found = metadata.find("channels");
  if (found != metadata.end() && absl::SimpleAtoi(found->second, &sizes.channels) && sizes.channels >= 1) return sizes;
  return absl::InvalidArgumentError(absl::StrCat("metadata \"channels\" is ",
                                                 found == metadata.end() ? "missing" : found->second,
                                                 ", expected the number of channels, as the descriptor is of moments"));
}

absl::StatusOr<NetworkShape> ParseShape(const TensorFile& file, const DescriptorOptions& descriptor) {
  NetworkShape shape;
  LayerSizes sizes;
  if (!descriptor.is_chebyshev()) {
    ASSIGN_OR_RETURN(sizes, ParseLayers(file.metadata));
  } else if (file.metadata.at("kind") == kWithVectors) {
    return absl::InvalidArgumentError(absl::StrCat("is of kind ", kWithVectors,
                                                   ", which has vector messages, but its descriptor is of chebyshev "
                                                   "features, which have none; expected one of moments"));
  }
  SetInputs(descriptor, sizes.channels, sizes.messages, sizes.vectors, &shape);
  shape.hidden.clear();
  const std::string& hidden = file.metadata.at("hidden");
  for (const absl::string_view text : absl::StrSplit(hidden, ',', absl::SkipEmpty())) {
    int nodes = 0;
    if (!absl::SimpleAtoi(text, &nodes)) {
      return absl::InvalidArgumentError(absl::StrCat("metadata \"hidden\" is \"", hidden, "\", expected as in 15,15"));
    }
    shape.hidden.push_back(nodes);
  }
  RETURN_IF_ERROR(shape.Validate());
  ASSIGN_OR_RETURN(shape.activation, kActivationNames.Parse(file.metadata.at("activation")));
  return shape;
}

// Returns the values of a tensor in whose numbers NaN and infinity have no meaning.
absl::StatusOr<std::vector<double>> FiniteValues(absl::string_view name, const Tensor& tensor) {
  std::vector<double> values = tensor.ToDoubles();
  if (AllFinite(values)) return values;
  return absl::InvalidArgumentError(
      absl::StrCat("tensor \"", name, "\" holds NaN or infinity, expected finite numbers"));
}

// Checks that the file has the tensor of a layer, of the right type and shape. All layers are checked before memory is
// taken for them, because the sizes in the metadata may have any value.
absl::Status CheckLayer(const TensorFile& file, const ParameterSlice& slice, DType dtype) {
  const Tensor* tensor = file.tensors.Find(slice.name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("has no tensor \"", slice.name, "\", expected ",
                                                   DescribeShape(dtype, slice.shape), " as metadata \"hidden\" says"));
  }
  if (tensor->dtype() == dtype && tensor->shape() == slice.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor \"", slice.name, "\" is ",
                                                 DescribeShape(tensor->dtype(), tensor->shape()), ", expected ",
                                                 DescribeShape(dtype, slice.shape)));
}

// Reads the feature range. Bounds may be infinite (for a species without training atoms) but not NaN.
absl::Status ReadRange(const TensorFile& file, const NetworkShape& shape, FeatureRange* range) {
  const std::vector<int64_t> by_feature = {shape.num_species, shape.num_features};
  const Tensor* const min = file.tensors.Find("feature_min");
  const Tensor* const max = file.tensors.Find("feature_max");
  if (min == nullptr && max == nullptr) return absl::OkStatus();
  if (min == nullptr || max == nullptr || min->shape() != by_feature || max->shape() != by_feature) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensors \"feature_min\" and \"feature_max\": expected both, or none, each [",
                     absl::StrJoin(by_feature, ","), "]"));
  }
  range->min = min->ToDoubles();
  range->max = max->ToDoubles();
  for (size_t k = 0; k < range->min.size(); ++k) {
    if (std::isnan(range->min[k]) || std::isnan(range->max[k])) {
      return absl::InvalidArgumentError("tensors \"feature_min\" and \"feature_max\" hold NaN");
    }
  }
  return absl::OkStatus();
}

// Reads the radii of the repulsion, which files of kind potential/2 have, those of potential/1 have not, and those of
// potential/3 may have.
absl::StatusOr<RepulsionRadii> ReadRepulsion(const TensorFile& file, const DescriptorOptions& descriptor) {
  RepulsionRadii radii;
  const Tensor* const inner = file.tensors.Find(kInnerName);
  const Tensor* const outer = file.tensors.Find(kOuterName);
  if (inner == nullptr && outer == nullptr) return radii;
  if (file.metadata.at("kind") == PotentialSchema().kind) {
    return absl::InvalidArgumentError(absl::StrCat("tensors \"", kInnerName, "\" and \"", kOuterName,
                                                   "\" in a file of kind ", PotentialSchema().kind,
                                                   ", expected them in ", kWithRepulsion));
  }
  if (inner == nullptr || outer == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("has one of the tensors \"", kInnerName, "\" and \"", kOuterName, "\", expected both, or none"));
  }
  radii.inner = inner->ToDoubles();
  radii.outer = outer->ToDoubles();
  RETURN_IF_ERROR(CheckRepulsion(radii, descriptor));
  return radii;
}

absl::StatusOr<Potential> Decode(const TensorFile& file) {
  Potential potential;
  potential.metadata = file.metadata;
  ASSIGN_OR_RETURN(potential.descriptor, DescriptorOptions::FromJson(file.metadata.at("descriptor")));
  ASSIGN_OR_RETURN(potential.shape, ParseShape(file, potential.descriptor));
  const NetworkShape& shape = potential.shape;
  const NamedTensors& tensors = file.tensors;
  const std::vector<int64_t> by_feature = {shape.num_species, shape.num_features};
  if (tensors.At("feature_mean").shape() != by_feature || tensors.At("atomic_energy").dim(0) != shape.num_species) {
    return absl::InvalidArgumentError(absl::StrCat("tensors \"feature_mean\" and \"atomic_energy\" do not fit ",
                                                   shape.num_species, " species and ", shape.num_features,
                                                   " features"));
  }
  potential.feature_scaling.num_species = shape.num_species;
  potential.feature_scaling.num_features = shape.num_features;
  ASSIGN_OR_RETURN(potential.feature_scaling.mean, FiniteValues("feature_mean", tensors.At("feature_mean")));
  ASSIGN_OR_RETURN(potential.feature_scaling.scale, FiniteValues("feature_scale", tensors.At("feature_scale")));
  RETURN_IF_ERROR(ReadRange(file, shape, &potential.feature_range));
  potential.energy_scaling.scale = tensors.At("energy_scale").ToDoubles()[0];
  ASSIGN_OR_RETURN(const std::vector<double> shift, FiniteValues("energy_shift", tensors.At("energy_shift")));
  potential.energy_scaling.shift = shift[0];
  ASSIGN_OR_RETURN(potential.atomic_energies, FiniteValues("atomic_energy", tensors.At("atomic_energy")));
  ASSIGN_OR_RETURN(potential.repulsion, ReadRepulsion(file, potential.descriptor));
  if (!(std::abs(potential.energy_scaling.scale) > 0) || !std::isfinite(potential.energy_scaling.scale)) {
    return absl::InvalidArgumentError("tensor \"energy_scale\" is not a finite number other than 0");
  }
  const Tensor* first = tensors.Find(WeightName(potential.descriptor, 0, 0));
  const DType dtype = first != nullptr && first->dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const std::vector<ParameterSlice> slices = NetworkSlices(potential.descriptor, shape);
  for (const ParameterSlice& slice : slices) RETURN_IF_ERROR(CheckLayer(file, slice, dtype));
  potential.parameters = Tensor::Zeros(dtype, {shape.num_parameters()});
  for (const ParameterSlice& slice : slices) {
    const Tensor& tensor = tensors.At(slice.name);
    RETURN_IF_ERROR(FiniteValues(slice.name, tensor).status());
    std::memcpy(static_cast<char*>(potential.parameters.mutable_data()) + slice.offset * ByteSize(dtype), tensor.data(),
                tensor.num_bytes());
  }
  return potential;
}

// The schema of potentials with a repulsion.
const Schema& RepulsionSchema() {
  static const Schema& schema = *[] {
    auto* with = new Schema(PotentialSchema());
    with->kind = kWithRepulsion;
    for (TensorRule& rule : with->tensors) {
      if (rule.name == kInnerName || rule.name == kOuterName) rule.required = true;
    }
    return with;
  }();
  return schema;
}

// The schema of potentials with vector messages, which may have a repulsion.
const Schema& VectorSchema() {
  static const Schema& schema = *[] {
    auto* with = new Schema(PotentialSchema());
    with->kind = kWithVectors;
    return with;
  }();
  return schema;
}

// Files of a later version get the message about the newest one that this program reads.
const Schema& SchemaFor(const TensorFile& file) {
  const auto kind = file.metadata.find("kind");
  if (kind == file.metadata.end() || !absl::StartsWith(kind->second, "potential/")) return PotentialSchema();
  if (kind->second == PotentialSchema().kind) return PotentialSchema();
  return kind->second == kWithRepulsion ? RepulsionSchema() : VectorSchema();
}

const Schema& SchemaFor(const Potential& potential) {
  if (potential.shape.has_vector_messages()) return VectorSchema();
  return potential.repulsion.empty() ? PotentialSchema() : RepulsionSchema();
}

}  // namespace

const Schema& PotentialSchema() {
  static const Schema& schema = *new Schema{
      "potential/1",
      "A potential, made by `train`. M species, F features. The energy of a structure is the sum over its atoms of "
      "network((G − feature_mean)·feature_scale) / energy_scale + energy_shift + atomic_energy, each of the atom's own "
      "species. For each species X and layer l there are also `network.X.l.weight` [out, in] and `network.X.l.bias` "
      "[out], all F32 or all F64; x·Wᵀ + b, activation on hidden layers, linear output. A many-body potential has "
      "K channels, which are the networks' inputs, L = max_l and N radial functions: `moments.X.radial` [K, L+1, M, "
      "N], "
      "`moments.X.product` [K, P] and `moments.X.linear` [K] (docs/methods.md). One of two layers has messages "
      "`message.X.weight` [U, K], and all of these once more for its second layer, with `second.` before their names "
      "and U in "
      "place of M. One with vector messages has `message.X.vector_weight` [V, K] as well, and is of kind potential/3, "
      "which older programs refuse. A potential with a repulsion of pairs "
      "has the last two tensors and is of kind potential/2, or 3 with vector messages: the energy is then that of "
      "the networks and of the repulsion.",
      {
          {"feature_mean", {DType::kF64}, {"M", "F"}, true, "dimensionless"},
          {"feature_scale",
           {DType::kF64},
           {"M", "F"},
           true,
           "1 / deviation; 0 for a feature that was constant in training"},
          {"feature_min",
           {DType::kF64},
           {"M", "F"},
           false,
           "least of each feature over the training atoms of the species; +infinity where there were none"},
          {"feature_max", {DType::kF64}, {"M", "F"}, false, "largest; −infinity where there were none"},
          {"atomic_energy", {DType::kF64}, {"M"}, true, "eV"},
          {"energy_scale", {DType::kF64}, {}, true, "1/eV"},
          {"energy_shift", {DType::kF64}, {}, true, "eV per atom"},
          {kInnerName,
           {DType::kF64},
           {"M", "M"},
           false,
           "Å, of each pair of species: the repulsion of Ziegler, Biersack and Littmark is switched off from here"},
          {kOuterName, {DType::kF64}, {"M", "M"}, false, "Å: to here, where it is 0"},
      },
      {
          {"descriptor", true, "JSON, as in the features"},
          {"channels", false, "of a many-body potential of one layer, whose descriptor is of moments"},
          {"layers", false,
           "K,U: channels and messages of a many-body potential of two layers, in place of `channels`; K,U,V with "
           "vector messages"},
          {"hidden", true, "nodes of each hidden layer, as 15,15"},
          {"activation", true, "linear, tanh, sigmoid, mtanh, twist or silu"},
          {"units", true, "Å, eV"},
          {"features_command", false, "the command that made the features"},
          {"energy_key", false,
           "with `force_key`, `stress_key`, `virial_key`, `runner_units`, `xsf_forces`: flags by which the labels of "
           "the training data were read"},
          {"config_key", false, "the key of a frame by which the training data are grouped, unless it is config_type"},
          {"isolated_atoms", false, "learn if isolated atoms were examples like all others; evaluate counts them then"},
          {"init_from", false, "the model that training started from, and its SHA-256"},
          {"epoch", false, "after which this model was written"},
          {"run_ended", false,
           "`true`: by its own limits; `false`: the run that wrote it was still going, or was stopped"},
          {"loss", false, "lowest of the run: of the validation set, in the units of the loss"},
      }};
  return schema;
}

std::string WeightName(const DescriptorOptions& descriptor, int species, int layer) {
  return LayerName(descriptor, species, layer, "weight");
}

std::string BiasName(const DescriptorOptions& descriptor, int species, int layer) {
  return LayerName(descriptor, species, layer, "bias");
}

void SetInputs(const DescriptorOptions& descriptor, int channels, int messages, int vector_messages,
               NetworkShape* shape) {
  shape->num_species = static_cast<int>(descriptor.species().size());
  shape->num_features = descriptor.num_features();
  shape->moments = MomentShape();
  if (descriptor.is_chebyshev()) return;
  shape->moments.channels = channels;
  shape->moments.messages = messages;
  shape->moments.vector_messages = vector_messages;
  shape->moments.num_radial = descriptor.moments().num_radial;
  shape->moments.max_l = descriptor.moments().max_l;
}

std::vector<ParameterSlice> NetworkSlices(const DescriptorOptions& descriptor, const NetworkShape& shape) {
  std::vector<ParameterSlice> slices;
  for (int species = 0; species < shape.num_species; ++species) {
    const int64_t begin = species * shape.parameters_per_species();
    AppendSlices(descriptor, shape.FirstLayer(), species, begin, "", &slices);
    if (!shape.has_messages()) continue;
    slices.push_back({absl::StrCat("message.", ElementSymbol(descriptor.species()[species]), ".weight"),
                      shape.message_offset(species),
                      {shape.moments.messages, shape.moments.channels}});
    if (shape.has_vector_messages()) {
      slices.push_back({absl::StrCat("message.", ElementSymbol(descriptor.species()[species]), ".vector_weight"),
                        shape.vector_offset(species),
                        {shape.moments.vector_messages, shape.moments.channels}});
    }
    AppendSlices(descriptor, shape.SecondLayer(), species, shape.second_layer_offset(species), "second.", &slices);
  }
  return slices;
}

absl::Status WritePotential(absl::string_view path, const Potential& potential) {
  const NetworkShape& shape = potential.shape;
  CHECK(potential.mace == nullptr) << "WriteMace writes MACE models";
  CHECK_EQ(potential.parameters.num_elements(), shape.num_parameters());
  CHECK_EQ(static_cast<int>(potential.atomic_energies.size()), shape.num_species);
  const std::vector<int64_t> by_feature = {shape.num_species, shape.num_features};
  NamedTensors tensors;
  tensors.Set("feature_mean", Tensor::Of<double>(potential.feature_scaling.mean, by_feature));
  tensors.Set("feature_scale", Tensor::Of<double>(potential.feature_scaling.scale, by_feature));
  if (!potential.feature_range.min.empty()) {
    tensors.Set("feature_min", Tensor::Of<double>(potential.feature_range.min, by_feature));
    tensors.Set("feature_max", Tensor::Of<double>(potential.feature_range.max, by_feature));
  }
  tensors.Set("atomic_energy", Tensor::Of(potential.atomic_energies));
  tensors.Set("energy_scale", Tensor::Scalar(potential.energy_scaling.scale));
  tensors.Set("energy_shift", Tensor::Scalar(potential.energy_scaling.shift));
  if (!potential.repulsion.empty()) {
    const absl::Status status = CheckRepulsion(potential.repulsion, potential.descriptor);
    CHECK(status.ok()) << status;
    const std::vector<int64_t> by_pair = {shape.num_species, shape.num_species};
    tensors.Set(kInnerName, Tensor::Of<double>(potential.repulsion.inner, by_pair));
    tensors.Set(kOuterName, Tensor::Of<double>(potential.repulsion.outer, by_pair));
  }
  for (const ParameterSlice& slice : NetworkSlices(potential.descriptor, shape)) {
    tensors.Set(slice.name, potential.parameters.Slice(slice.offset, slice.shape));
  }
  Metadata metadata = potential.metadata;
  metadata["kind"] = SchemaFor(potential).kind;
  metadata["descriptor"] = potential.descriptor.ToJson();
  if (shape.has_messages()) {
    metadata["layers"] = absl::StrCat(shape.moments.channels, ",", shape.moments.messages);
    if (shape.has_vector_messages()) absl::StrAppend(&metadata["layers"], ",", shape.moments.vector_messages);
  } else if (shape.has_moments()) {
    metadata["channels"] = absl::StrCat(shape.moments.channels);
  }
  metadata["hidden"] = absl::StrJoin(shape.hidden, ",");
  metadata["activation"] = std::string(kActivationNames.Name(shape.activation));
  metadata["units"] = "length Å, energy eV";
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<Potential> ReadPotential(absl::string_view path) {
  const ProfileScope scope(Stage::kRead);
  RETURN_IF_ERROR(RefuseOtherPrograms(path));
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  if (IsMaceFile(file)) return MaceInPlaceOfOurs(path);
  RETURN_IF_ERROR(CheckSchema(SchemaFor(file), file).status());
  absl::StatusOr<Potential> potential = Decode(file);
  if (!potential.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", potential.status().message()));
  return potential;
}

}  // namespace rutile
