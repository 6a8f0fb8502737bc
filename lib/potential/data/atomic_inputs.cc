#include "lib/potential/data/atomic_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/line_reader.h"
#include "lib/file/preload.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/structure_block.h"
#include "lib/structure/element.h"
#include "lib/structure/structure_reader.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using Block = std::shared_ptr<const AtomicBlock>;

// ---- checks that inputs agree

std::string EnergiesText(const std::map<uint8_t, double>& energies) {
  if (energies.empty()) return "not given";
  return absl::StrJoin(energies, ",", [](std::string* out, const std::pair<const uint8_t, double>& entry) {
    absl::StrAppend(out, ElementSymbol(entry.first), "=", entry.second);
  });
}

std::string DescriptorText(const std::optional<DescriptorOptions>& descriptor) {
  return descriptor.has_value() ? descriptor->ToJson() : "not recorded";
}

// Checks that files of one kind agree in everything that one command fixes for all of its structures.
absl::Status CheckSame(const AtomicBlock& first, const AtomicBlock& other) {
  auto differ = [&](absl::string_view what, absl::string_view a, absl::string_view b) {
    return absl::InvalidArgumentError(absl::StrCat(
        other.path, ": its ", what, " is ", b, ", but that of ", first.path, " is ", a, "; run ",
        other.kind == AtomicKind::kNeighbors ? "cache-neighbors" : "featurize", " on both with the same flags"));
  };
  if (other.descriptor != first.descriptor) {
    return differ("descriptor", DescriptorText(first.descriptor), DescriptorText(other.descriptor));
  }
  if (other.kind == AtomicKind::kFeatures && other.feature.dtype() != first.feature.dtype()) {
    return differ("feature type", DTypeName(first.feature.dtype()), DTypeName(other.feature.dtype()));
  }
  if (other.config_key != first.config_key) return differ("config_key", first.config_key, other.config_key);
  if (other.weight_key != first.weight_key) return differ("weight_key", first.weight_key, other.weight_key);
  if (other.atomic_energies != first.atomic_energies) {
    return differ("atomic_energies", EnergiesText(first.atomic_energies), EnergiesText(other.atomic_energies));
  }
  return absl::OkStatus();
}

absl::StatusOr<DescriptorOptions> ChooseDescriptor(const std::vector<Block>& blocks, const AtomicDataOptions& options) {
  const std::optional<DescriptorOptions>& given = options.descriptor;
  const AtomicBlock* recorded = nullptr;
  for (const Block& block : blocks) {
    if (!block->descriptor.has_value()) continue;
    if (recorded == nullptr) recorded = block.get();
    if (*block->descriptor != *recorded->descriptor) {
      return absl::InvalidArgumentError(
          absl::StrCat(block->path, ": its descriptor is ", block->descriptor->ToJson(), ", but that of ",
                       recorded->path, " is ", recorded->descriptor->ToJson(), "; make both with the same flags"));
    }
  }
  if (recorded != nullptr && given.has_value() && *given != *recorded->descriptor) {
    return absl::InvalidArgumentError(absl::StrCat(
        recorded->path, ": made with the descriptor ", recorded->descriptor->ToJson(), ", but that of the model is ",
        given->ToJson(), ": give features of the model's descriptor, or neighbors or structures alone"));
  }
  if (recorded != nullptr) return *recorded->descriptor;
  const DescriptorOptions* const chosen = given.has_value()                        ? &*given
                                          : options.default_descriptor.has_value() ? &*options.default_descriptor
                                                                                   : nullptr;
  if (chosen == nullptr) {
    return absl::InvalidArgumentError(
        "no descriptor is recorded in the inputs: give --species and the descriptor's other flags");
  }
  RETURN_IF_ERROR(chosen->Validate());
  return *chosen;
}

// ---- inputs

// Nobody can look into a named pipe and then read it, so it is taken for structures, features or neighbors.
constexpr char kAsStandardInput[] = "; of a named pipe, give what it holds as standard input (- < PIPE)";

// One opened input: a decoded tensor file, or structures still to be read.
struct Input {
  Block block;                      // set for a tensor file
  std::optional<LineReader> lines;  // set for structures
};

absl::StatusOr<Input> OpenInput(const std::string& path, const PreloadOptions& preload) {
  Input input;
  std::error_code ignored;
  const bool regular = path != "-" && std::filesystem::is_regular_file(path, ignored);
  if (regular && !LooksLikeTensorFile(path)) {
    ASSIGN_OR_RETURN(input.lines, LineReader::Open(path));
    return input;
  }
  // A pipe that somebody has read to see what it holds is known to the reader of tensor files, and is at its end.
  if (!regular && LooksLikeTensorFile(path)) {
    ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
    ASSIGN_OR_RETURN(AtomicBlock block, BlockFromTensorFile(std::move(file)));
    input.block = std::make_shared<const AtomicBlock>(std::move(block));
    return input;
  }
  ASSIGN_OR_RETURN(const FileContents contents, OpenPreloaded(path, preload));
  // A stream is in memory already, so its bytes can be inspected; the ninth byte of a tensor file begins its header.
  if (!regular && (contents.data().size() < 9 || contents.data()[8] != '{')) {
    input.lines = LineReader::FromBytes(path, std::string(contents.data()));
    return input;
  }
  ASSIGN_OR_RETURN(TensorFile file, ParseTensorFile(contents.path(), contents.data(), contents.owner()));
  absl::StatusOr<AtomicBlock> read = BlockFromTensorFile(std::move(file));
  if (!read.ok() && std::filesystem::is_fifo(path, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(read.status().message(), kAsStandardInput));
  }
  ASSIGN_OR_RETURN(AtomicBlock block, std::move(read));
  input.block = std::make_shared<const AtomicBlock>(std::move(block));
  return input;
}

// Checks that preloaded files fit into memory. Structures do not count: their columns are in memory in any case.
absl::Status CheckRoom(absl::Span<const std::string> paths, const PreloadOptions& preload) {
  if (preload.preload == Preload::kNone) return absl::OkStatus();
  std::vector<std::string> files;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(files), LooksLikeTensorFile);
  return CheckPreloadRoom(files, preload);
}

// Returns the error of structures for which no descriptor is given. It names the elements that they hold.
absl::Status NeedSpecies(std::vector<LineReader> files, const AtomicDataOptions& options) {
  StructureReaderOptions reader_options = options.reader;
  reader_options.on_warning = nullptr;
  const std::string first = files[0].path();
  std::set<uint8_t> elements;
  Structure structure;
  for (LineReader& file : files) {
    ASSIGN_OR_RETURN(const std::unique_ptr<StructureReader> reader,
                     OpenStructureReader(std::move(file), reader_options));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, reader->Next(&structure));
      if (!more) break;
      elements.insert(structure.element.begin(), structure.element.end());
    }
  }
  const std::string list = absl::StrJoin(
      elements, ",", [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
  return absl::InvalidArgumentError(absl::StrCat(first, files.size() > 1 ? " and the other inputs" : "",
                                                 ": structures need the elements, in any order that you then keep: "
                                                 "here --species=",
                                                 list));
}

// Reads each file in one thread. Warnings come in the order of the files.
absl::StatusOr<std::vector<Block>> ReadStructures(std::vector<LineReader> files, const DescriptorOptions& descriptor,
                                                  const AtomicDataOptions& options) {
  StructureBlockOptions block_options;
  block_options.species = descriptor.species();
  block_options.reader = options.reader;
  block_options.config_key = options.config_key;
  block_options.weight_key = options.weight_key;
  std::vector<Block> blocks(files.size());
  std::vector<absl::Status> status(files.size());
  std::vector<std::vector<std::string>> warnings(files.size());
  ThreadPool pool(std::min<int>(options.num_threads, files.size()));
  pool.For(files.size(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      StructureBlockOptions own = block_options;
      own.reader.on_warning = [&warnings, i](const std::string& message) { warnings[i].push_back(message); };
      absl::StatusOr<AtomicBlock> block = BlockFromStructures(std::move(files[i]), own);
      status[i] = block.status();
      if (block.ok()) blocks[i] = std::make_shared<const AtomicBlock>(*std::move(block));
    }
  });
  for (const absl::Status& s : status) RETURN_IF_ERROR(s);
  for (const std::vector<std::string>& of_file : warnings) {
    for (const std::string& message : of_file) {
      if (options.reader.on_warning) options.reader.on_warning(message);
    }
  }
  return blocks;
}

// Structures of one atom do not count: whatever their cell, there is no force on the atom, and none to learn from it.
bool HasForces(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    for (int64_t s = 0; s < block->num_structures(); ++s) {
      if (block->has_force[s] && block->atom_offset[s + 1] - block->atom_offset[s] > 1) return true;
    }
  }
  return false;
}

absl::Status CheckWeights(const std::vector<Block>& blocks, const std::string& weight_key) {
  if (weight_key.empty()) return absl::OkStatus();
  const AtomicBlock& first = *blocks[0];
  if (first.kind != AtomicKind::kStructures && first.weight_key != weight_key) {
    return absl::InvalidArgumentError(absl::StrCat(
        first.path, first.weight_key.empty() ? ": has no weights" : ": has the weights of " + first.weight_key,
        ", but --weight_key=", weight_key, "; make it again with that flag, or leave it out"));
  }
  for (const Block& block : blocks) {
    if (!block->weight.empty()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("no structure has the key of --weight_key=", weight_key));
}

absl::Status CheckCutoffs(const AtomicBlock& block, const DescriptorOptions& descriptor) {
  const double needed = descriptor.cutoff();
  if (block.cutoff >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(block.path, ": holds neighbors within ", block.cutoff,
                                                 " Angstrom, but the descriptor needs them within ", needed,
                                                 "; run cache-neighbors with --cutoff=", needed));
}

// Returns the block with `species` indexing the descriptor's species; the block itself if it does so already.
absl::StatusOr<Block> WithSpeciesOf(const DescriptorOptions& descriptor, const Block& block) {
  if (block->elements == descriptor.species()) return block;
  struct Remapped {
    std::vector<uint8_t> species;
    Block original;
  };
  const auto remapped = std::make_shared<Remapped>();
  remapped->original = block;
  std::vector<int> index(block->elements.size(), -1);
  for (size_t e = 0; e < index.size(); ++e) {
    const auto found = std::find(descriptor.species().begin(), descriptor.species().end(), block->elements[e]);
    if (found != descriptor.species().end()) index[e] = static_cast<int>(found - descriptor.species().begin());
  }
  for (const uint8_t s : block->species) {
    if (index[s] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(block->path, ": holds ", ElementSymbol(block->elements[s]),
                                                     ", which is not among the species of the descriptor, ",
                                                     descriptor.ToJson()));
    }
    remapped->species.push_back(static_cast<uint8_t>(index[s]));
  }
  AtomicBlock result = *block;
  result.elements = descriptor.species();
  result.species = remapped->species;
  result.owner = remapped;
  return std::make_shared<const AtomicBlock>(std::move(result));
}

}  // namespace

absl::StatusOr<AtomicInputs> ReadAtomicInputs(absl::Span<const std::string> paths, const AtomicDataOptions& options) {
  if (paths.empty()) return absl::InvalidArgumentError("no data are given");
  AtomicInputs result;
  std::vector<LineReader> structures;
  RETURN_IF_ERROR(CheckRoom(paths, options.preload));
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(Input input, OpenInput(path, options.preload));
    if (input.block == nullptr) {
      structures.push_back(*std::move(input.lines));
    } else {
      const bool is_neighbors = input.block->kind == AtomicKind::kNeighbors;
      std::vector<Block>& same = is_neighbors ? result.neighbors : result.blocks;
      if (!same.empty()) RETURN_IF_ERROR(CheckSame(*same[0], *input.block));
      same.push_back(std::move(input.block));
    }
    if (!structures.empty() && structures.size() != &path - paths.data() + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(paths[0], " and ", path,
                       ": structures cannot be used beside files that were made from structures; give "
                       "structures alone, or make features or neighbors of all"));
    }
  }
  std::vector<Block> files = result.blocks;
  files.insert(files.end(), result.neighbors.begin(), result.neighbors.end());
  if (!structures.empty() && !options.descriptor.has_value() && !options.default_descriptor.has_value()) {
    return NeedSpecies(std::move(structures), options);
  }
  ASSIGN_OR_RETURN(result.descriptor, ChooseDescriptor(files, options));
  if (!structures.empty()) {
    ASSIGN_OR_RETURN(result.blocks, ReadStructures(std::move(structures), result.descriptor, options));
    if (options.forces_descriptor.has_value() && HasForces(result.blocks)) {
      CHECK(options.forces_descriptor->species() == result.descriptor.species()) << "other species with forces";
      result.descriptor = *options.forces_descriptor;
    }
  }
  for (std::vector<Block>* blocks : {&result.blocks, &result.neighbors}) {
    for (Block& block : *blocks) {
      ASSIGN_OR_RETURN(block, WithSpeciesOf(result.descriptor, block));
    }
  }
  for (const Block& block : result.neighbors) RETURN_IF_ERROR(CheckCutoffs(*block, result.descriptor));
  RETURN_IF_ERROR(CheckWeights(result.blocks.empty() ? result.neighbors : result.blocks, options.weight_key));
  return result;
}

absl::StatusOr<std::shared_ptr<const AtomicBlock>> ReadBlock(const std::string& path,
                                                             const DescriptorOptions& descriptor,
                                                             const PreloadOptions& preload) {
  ASSIGN_OR_RETURN(const FileContents contents, OpenPreloaded(path, preload));
  ASSIGN_OR_RETURN(TensorFile file, ParseTensorFile(contents.path(), contents.data(), contents.owner()));
  ASSIGN_OR_RETURN(AtomicBlock block, BlockFromTensorFile(std::move(file)));
  return WithSpeciesOf(descriptor, std::make_shared<const AtomicBlock>(std::move(block)));
}

LabelKeys CommonLabelKeys(absl::Span<const std::shared_ptr<const AtomicBlock>> blocks,
                          const std::function<void(const std::string&)>& on_warning) {
  const AtomicBlock& first = *blocks[0];
  for (const std::shared_ptr<const AtomicBlock>& block : blocks) {
    if (block->label_keys == first.label_keys) continue;
    if (on_warning) {
      on_warning(
          absl::StrCat(block->path, ": its labels were read by other keys than those of ", first.path,
                       ": if these are other energies or forces, do not mix them. What learns from both does not "
                       "record which"));
    }
    return {};
  }
  return first.label_keys;
}

}  // namespace rutile
