#include "lib/descriptor/files/feature_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/all_finite.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {

const Schema& FeatureSchema() {
  static const Schema& schema = *new Schema{
      "atomistic.features/1",
      "Descriptors of every atom, made by `featurize`. A atoms, S structures, F features; atoms are concatenated. What "
      "a structure lacks is NaN and never read.",
      WithStructureTensors({
          {"feature",
           {DType::kF32, DType::kF64},
           {"A", "F"},
           true,
           "dimensionless, not yet scaled; F64 with `--precision=fp64`"},
      }),
      WithStructureMetadata({
          {"descriptor", true,
           "JSON: type, species (what `species` counts; the order fixes the typespins), orders, cutoffs in Å; "
           "`nearer`: further angular sets"},
      })};
  return schema;
}

absl::StatusOr<FeatureFile> ReadFeatures(absl::string_view path) {
  ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
  return DecodeFeatures(std::move(file));
}

absl::StatusOr<FeatureFile> DecodeFeatures(TensorFile tensor_file) {
  FeatureFile result;
  result.file = std::move(tensor_file);
  const TensorFile& file = result.file;
  ASSIGN_OR_RETURN(const auto sizes, CheckSchema(FeatureSchema(), file));
  absl::StatusOr<DescriptorOptions> descriptor = DescriptorOptions::FromJson(file.metadata.at("descriptor"));
  if (!descriptor.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": metadata \"descriptor\": ", descriptor.status().message()));
  }
  result.descriptor = *std::move(descriptor);
  if (result.descriptor.num_features() != sizes.at("F")) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"feature\" has ", sizes.at("F"),
                                                   " columns, but its descriptor has ",
                                                   result.descriptor.num_features(), " features"));
  }
  RETURN_IF_ERROR(DecodeStructures(sizes, result.descriptor.species(), &result));
  const Tensor& feature = file.tensors.At("feature");
  if (!(feature.dtype() == DType::kF32 ? AllFinite(feature.values<float>()) : AllFinite(feature.values<double>()))) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": tensor \"feature\" holds NaN or infinity: make it again"));
  }
  return result;
}

struct FeatureWriter::State {
  StructureFileWriter writer;
  DescriptorOptions descriptor;
  std::map<uint8_t, double> atomic_energies;
};

FeatureWriter::FeatureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FeatureWriter::FeatureWriter(FeatureWriter&&) noexcept = default;
FeatureWriter::~FeatureWriter() = default;

absl::StatusOr<FeatureWriter> FeatureWriter::Create(absl::string_view path, const DescriptorOptions& descriptor,
                                                    DType precision, const std::map<uint8_t, double>& atomic_energies,
                                                    bool weights) {
  ASSIGN_OR_RETURN(StructureFileWriter writer, StructureFileWriter::Create(path, weights));
  RETURN_IF_ERROR(writer.tensors().Declare("feature", precision, {descriptor.num_features()}));
  return FeatureWriter(std::make_unique<State>(State{std::move(writer), descriptor, atomic_energies}));
}

absl::Status FeatureWriter::Append(const Structure& structure, absl::Span<const uint8_t> species,
                                   absl::Span<const float> features, double weight) {
  RETURN_IF_ERROR(state_->writer.tensors().Append("feature", features));
  return state_->writer.Append(structure, species, weight);
}

absl::Status FeatureWriter::Append(const Structure& structure, absl::Span<const uint8_t> species,
                                   absl::Span<const double> features, double weight) {
  RETURN_IF_ERROR(state_->writer.tensors().Append("feature", features));
  return state_->writer.Append(structure, species, weight);
}

absl::Status FeatureWriter::Finish(const Metadata& provenance) {
  Metadata metadata = provenance;
  metadata["kind"] = FeatureSchema().kind;
  metadata["descriptor"] = state_->descriptor.ToJson();
  return state_->writer.Finish(std::move(metadata), state_->atomic_energies);
}

}  // namespace rutile
