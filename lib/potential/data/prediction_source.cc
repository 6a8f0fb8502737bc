#include "lib/potential/data/prediction_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/structure_file.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

class RawSource : public PredictionSource {
 public:
  RawSource(std::unique_ptr<StructureReader> reader, std::string config_key)
      : reader_(std::move(reader)), config_key_(std::move(config_key)) {}

  absl::StatusOr<bool> Next(const std::function<bool(const std::string&)>& wants, SourceStructure* item) override {
    while (true) {
      RETURN_IF_ERROR(CheckInterrupt());
      ASSIGN_OR_RETURN(const bool more, reader_->Next(&item->structure));
      if (!more) return false;
      auto found = item->structure.info.find(config_key_);
      if (found == item->structure.info.end()) found = item->structure.info.find("config_type");
      item->config_type = found == item->structure.info.end() ? "" : found->second;
      if (wants(item->config_type)) break;
    }
    item->has_pairs = false;
    item->features32 = {};
    item->features64 = {};
    return true;
  }

 private:
  const std::unique_ptr<StructureReader> reader_;
  const std::string config_key_;
};

// The part that files of features and of neighbors share: their structures.
class FileSource : public PredictionSource {
 public:
  absl::StatusOr<bool> Next(const std::function<bool(const std::string&)>& wants, SourceStructure* item) override {
    const StructureFile& file = structures();
    const absl::Span<const int32_t> config = file.file.tensors.At("config").values<int32_t>();
    while (next_ < file.num_structures()) {
      RETURN_IF_ERROR(CheckInterrupt());
      const int64_t s = next_++;
      item->config_type = file.config_types[config[s]];
      if (!wants(item->config_type)) continue;
      CopyStructure(file, species(), s, &item->structure);
      item->structure.energy_key = NameOf("energy_key", "energy");
      item->structure.force_key = NameOf("force_key", "forces");
      Fill(s, item);
      return true;
    }
    return false;
  }

 protected:
  virtual const StructureFile& structures() const = 0;
  virtual absl::Span<const uint8_t> species() const = 0;  // atomic numbers
  virtual void Fill(int64_t s, SourceStructure* item) const = 0;

 private:
  // The name under which the file's labels were read.
  std::string NameOf(const char* flag, const char* usual) const {
    const Metadata& metadata = structures().file.metadata;
    const auto found = metadata.find(flag);
    return found == metadata.end() || found->second.empty() ? usual : found->second;
  }

  int64_t next_ = 0;
};

class FeatureFileSource : public FileSource {
 public:
  explicit FeatureFileSource(FeatureFile file) : file_(std::move(file)) {}

 protected:
  const StructureFile& structures() const override { return file_; }
  absl::Span<const uint8_t> species() const override { return file_.descriptor.species(); }
  void Fill(int64_t s, SourceStructure* item) const override {
    const NamedTensors& tensors = file_.file.tensors;
    const absl::Span<const int64_t> offset = tensors.At("atom_offset").values<int64_t>();
    const int64_t begin = offset[s], atoms = offset[s + 1] - begin, features = file_.descriptor.num_features();
    const Tensor& feature = tensors.At("feature");
    item->features32 = {};
    item->features64 = {};
    if (feature.dtype() == DType::kF64) {
      item->features64 = feature.values<double>().subspan(begin * features, atoms * features);
    } else {
      item->features32 = feature.values<float>().subspan(begin * features, atoms * features);
    }
    item->has_pairs = false;
  }

 private:
  const FeatureFile file_;
};

class NeighborFileSource : public FileSource {
 public:
  explicit NeighborFileSource(NeighborFile file) : file_(std::move(file)) {}

 protected:
  const StructureFile& structures() const override { return file_; }
  absl::Span<const uint8_t> species() const override { return file_.species; }
  void Fill(int64_t s, SourceStructure* item) const override {
    item->has_pairs = true;
    item->pairs = file_.pairs(s);
    item->features32 = {};
    item->features64 = {};
  }

 private:
  const NeighborFile file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PredictionSource>> PredictionSource::Open(const std::string& path,
                                                                         const DescriptorOptions& descriptor,
                                                                         const StructureReaderOptions& options,
                                                                         const std::string& config_key) {
  if (!LooksLikeTensorFile(path)) {
    ASSIGN_OR_RETURN(std::unique_ptr<StructureReader> reader, StructureReader::Open(path, options));
    return std::make_unique<RawSource>(std::move(reader), config_key);
  }
  ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(path));
  ASSIGN_OR_RETURN(const FileKind kind, GetFileKind(file));
  if (kind.name == "potential" || kind.name == "mace") {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": is a model, not data; several models are one argument: MODEL,MODEL or a quoted 'run/*/best.safetensors'"));
  }
  if (kind.name == "atomistic.neighbors") {
    ASSIGN_OR_RETURN(NeighborFile neighbors, ReadNeighbors(path));
    const double needed = descriptor.cutoff();
    if (neighbors.cutoff < needed) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": has neighbors to ", neighbors.cutoff,
                                                     " Å, but the model's descriptor needs ", needed,
                                                     " Å; give the structures, and evaluate will find them"));
    }
    return std::make_unique<NeighborFileSource>(std::move(neighbors));
  }
  ASSIGN_OR_RETURN(FeatureFile features, ReadFeatures(path));
  if (features.descriptor != descriptor) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": made with the descriptor ", features.descriptor.ToJson(),
                                                   ", but the model has ", descriptor.ToJson(),
                                                   "; give the structures, and evaluate will featurize them"));
  }
  return std::make_unique<FeatureFileSource>(std::move(features));
}

}  // namespace rutile
