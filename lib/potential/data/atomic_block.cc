#include "lib/potential/data/atomic_block.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/structure_file.h"
#include "lib/tensorfile/file_kind.h"

namespace rutile {
namespace {

template <typename T>
absl::Span<const T> Column(const NamedTensors& tensors, absl::string_view name) {
  const Tensor* const tensor = tensors.Find(name);
  return tensor == nullptr ? absl::Span<const T>() : tensor->values<T>();
}

// Fills the columns that all kinds have. They point into `file`.
void FillStructures(const StructureFile& file, AtomicBlock* block) {
  block->path = file.file.path;
  const auto command = file.file.metadata.find("command");
  if (command != file.file.metadata.end()) block->command = command->second;
  block->names = file.names;
  block->config_types = file.config_types;
  block->config_key = file.file.metadata.at("config_key");
  const auto weight_key = file.file.metadata.find("weight_key");
  if (weight_key != file.file.metadata.end()) block->weight_key = weight_key->second;
  block->label_keys = LabelKeysOf(file.file.metadata);
  block->atomic_energies = file.atomic_energies;
  const NamedTensors& tensors = file.file.tensors;
  block->atom_offset = Column<int64_t>(tensors, "atom_offset");
  block->species = Column<uint8_t>(tensors, "species");
  block->position = Column<double>(tensors, "position");
  block->force = Column<double>(tensors, "force");
  block->cell = Column<double>(tensors, "cell");
  block->pbc = Column<bool>(tensors, "pbc");
  block->energy = Column<double>(tensors, "energy");
  block->stress = Column<double>(tensors, "stress");
  block->config = Column<int32_t>(tensors, "config");
  block->has_energy = Column<bool>(tensors, "has_energy");
  block->has_force = Column<bool>(tensors, "has_force");
  block->has_stress = Column<bool>(tensors, "has_stress");
  block->weight = Column<double>(tensors, "weight");
}

absl::StatusOr<AtomicBlock> FromFeatures(TensorFile tensor_file) {
  AtomicBlock block;
  ASSIGN_OR_RETURN(FeatureFile decoded, DecodeFeatures(std::move(tensor_file)));
  const auto file = std::make_shared<const FeatureFile>(std::move(decoded));
  FillStructures(*file, &block);
  block.kind = AtomicKind::kFeatures;
  block.descriptor = file->descriptor;
  block.elements = file->descriptor.species();
  block.feature = file->file.tensors.At("feature");
  block.owner = file;
  return block;
}

absl::StatusOr<AtomicBlock> FromNeighbors(TensorFile tensor_file) {
  AtomicBlock block;
  ASSIGN_OR_RETURN(NeighborFile decoded, DecodeNeighbors(std::move(tensor_file)));
  const auto file = std::make_shared<const NeighborFile>(std::move(decoded));
  FillStructures(*file, &block);
  block.kind = AtomicKind::kNeighbors;
  if (!file->descriptor.empty()) {
    absl::StatusOr<DescriptorOptions> descriptor = DescriptorOptions::FromJson(file->descriptor);
    if (!descriptor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(block.path, ": metadata \"descriptor\": ", descriptor.status().message()));
    }
    if (descriptor->species() != file->species) {
      return absl::InvalidArgumentError(
          absl::StrCat(block.path, ": metadata \"species\" is not the list of species of its descriptor"));
    }
    block.descriptor = *std::move(descriptor);
  }
  block.elements = file->species;
  block.cutoff = file->cutoff;
  block.pair_offset = file->pair_offset;
  block.pair_j = file->pair_j;
  block.pair_shift = file->pair_shift;
  block.triplet_cutoff = file->triplet_cutoff;
  block.triplet_offset = file->triplet_offset;
  block.triplet_a = file->triplet_a;
  block.triplet_b = file->triplet_b;
  block.owner = file;
  return block;
}

}  // namespace

absl::StatusOr<AtomicBlock> BlockFromTensorFile(TensorFile file) {
  ASSIGN_OR_RETURN(const FileKind kind, GetFileKind(file));
  if (kind.name == "atomistic.features") return FromFeatures(std::move(file));
  if (kind.name == "atomistic.neighbors") return FromNeighbors(std::move(file));
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": is of kind ", kind.name, "/", kind.version,
                                                 ", expected structures, or features made by featurize, or neighbors "
                                                 "made by cache-neighbors"));
}

}  // namespace rutile
