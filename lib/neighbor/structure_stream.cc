#include "lib/neighbor/structure_stream.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/read_ahead.h"
#include "lib/structure/label_filter.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr char kConfigType[] = "config_type";

// A chunk of structures, which keep their memory from one use to the next.
struct Chunk {
  std::vector<StreamedStructure> structures;
  int64_t count = 0;  // number of structures in use
  bool last = false;
};

double ReferencedEnergyPerAtom(const Structure& structure, const std::map<uint8_t, double>& atomic_energies) {
  double energy = *structure.energy;
  for (const uint8_t element : structure.element) {
    const auto found = atomic_energies.find(element);
    if (found != atomic_energies.end()) energy -= found->second;
  }
  return energy / structure.size();
}

absl::string_view ConfigType(const Structure& structure) {
  const auto config = structure.info.find(kConfigType);
  return config == structure.info.end() ? "" : absl::string_view(config->second);
}

// Reads the inputs one after another, and leaves out structures of other shards and those that the filters exclude.
class ChunkReader {
 public:
  ChunkReader(absl::Span<const std::string> inputs, const StructureStreamOptions& options, int64_t chunk_atoms,
              StructureConsumer* consumer)
      : inputs_(inputs),
        options_(options),
        chunk_atoms_(chunk_atoms),
        consumer_(consumer),
        filter_(options.max_energy, options.max_forces, !options.atomic_energies.empty()) {}

  absl::Status Read(Chunk* chunk) {
    const ProfileScope scope(Stage::kRead);
    int64_t atoms = 0;
    RETURN_IF_ERROR(Fill(chunk, &atoms));
    scope.Add(Counter::kStructures, chunk->count);
    scope.Add(Counter::kAtoms, atoms);
    return absl::OkStatus();
  }

  int64_t number() const { return number_; }
  int64_t filtered() const { return filtered_; }
  int64_t references() const { return references_; }
  std::string DescribeFilter() const { return filter_.Describe(); }

 private:
  absl::Status Fill(Chunk* chunk, int64_t* atoms) {
    const ProfileScope scope(
        Stage::kParse);  // one scope for all, because a small structure takes no longer than a few scopes
    chunk->count = 0;
    while (*atoms < chunk_atoms_) {
      if (static_cast<int64_t>(chunk->structures.size()) == chunk->count) chunk->structures.emplace_back();
      StreamedStructure& next = chunk->structures[chunk->count];
      ASSIGN_OR_RETURN(const bool more, Next(&next));
      if (!more) {
        chunk->last = true;
        return absl::OkStatus();
      }
      if (number_++ % options_.num_shards != options_.shard - 1) continue;
      RETURN_IF_ERROR(SetConfigAndWeight(&next));
      std::optional<double> energy;
      if (next.structure.energy.has_value()) {
        energy = ReferencedEnergyPerAtom(next.structure, options_.atomic_energies);
      }
      const bool is_reference = IsIsolatedAtom(next.structure.size(), ConfigType(next.structure));
      references_ += is_reference;
      if (!is_reference && filter_.LeavesOut(energy, next.structure.force)) {
        ++filtered_;
        continue;
      }
      *atoms += next.structure.size();
      ++chunk->count;
    }
    return absl::OkStatus();
  }

  absl::Status Open(const std::string& path) {
    if (!LooksLikeTensorFile(path)) {
      ASSIGN_OR_RETURN(reader_, StructureReader::Open(path, options_.reader));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(NeighborFile file, ReadNeighbors(path));
    RETURN_IF_ERROR(CheckKey(file, "config_key", options_.config_key));
    if (!options_.weight_key.empty()) {
      RETURN_IF_ERROR(CheckKey(file, "weight_key", options_.weight_key));
      if (!file.file.tensors.Has("weight")) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": has a weight_key, but no tensor \"weight\""));
      }
    }
    RETURN_IF_ERROR(consumer_->Accept(file));
    neighbors_ = std::make_shared<const NeighborFile>(std::move(file));
    next_index_ = 0;
    return absl::OkStatus();
  }

  static absl::Status CheckKey(const NeighborFile& file, const std::string& key, const std::string& value) {
    const auto found = file.file.metadata.find(key);
    const std::string recorded = found == file.file.metadata.end() ? "" : found->second;
    if (recorded == value) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        file.file.path, ": made with ", recorded.empty() ? absl::StrCat("no --", key) : absl::StrCat("--", key, "="),
        recorded, ", but --", key, "=", value, " is wanted; run cache-neighbors with it"));
  }

  absl::StatusOr<bool> Next(StreamedStructure* next) {
    while (true) {
      RETURN_IF_ERROR(CheckInterrupt());
      if (reader_ == nullptr && neighbors_ == nullptr) {
        if (next_input_ == inputs_.size()) return false;
        RETURN_IF_ERROR(Open(inputs_[next_input_++]));
      }
      next->neighbors = neighbors_;
      next->has_weight = false;
      if (reader_ != nullptr) {
        ASSIGN_OR_RETURN(const bool more, reader_->Next(&next->structure));
        if (more) return true;
        reader_.reset();
      } else {
        if (next_index_ < neighbors_->num_structures()) {
          next->index = next_index_++;
          CopyStructure(*neighbors_, neighbors_->species, next->index, &next->structure);
          return true;
        }
        neighbors_.reset();
      }
    }
  }

  absl::Status SetConfigAndWeight(StreamedStructure* next) const {
    Structure& structure = next->structure;
    const bool weights = !options_.weight_key.empty();
    next->weight = 1;
    if (next->neighbors != nullptr) {  // the file of neighbors has them already
      if (weights) {
        next->weight = next->neighbors->file.tensors.At("weight").values<double>()[next->index];
        next->has_weight = true;
      }
      return absl::OkStatus();
    }
    if (const auto found = structure.info.find(options_.weight_key); weights && found != structure.info.end()) {
      if (!absl::SimpleAtod(found->second, &next->weight) || !(next->weight >= 0 && std::isfinite(next->weight))) {
        return absl::InvalidArgumentError(absl::StrCat(structure.name, ": its weight ", options_.weight_key, " is \"",
                                                       found->second, "\", expected a number of 0 or more"));
      }
      next->has_weight = true;
    }
    if (options_.config_key != kConfigType) {
      const auto found = structure.info.find(options_.config_key);
      structure.info[kConfigType] = found == structure.info.end() ? "" : found->second;
    }
    return absl::OkStatus();
  }

  const absl::Span<const std::string> inputs_;
  const StructureStreamOptions& options_;
  const int64_t chunk_atoms_;
  StructureConsumer* const consumer_;
  LabelFilter filter_;
  size_t next_input_ = 0;
  std::unique_ptr<StructureReader> reader_;  // at most one of the two is open
  std::shared_ptr<const NeighborFile> neighbors_;
  int64_t next_index_ = 0;
  int64_t number_ = 0;  // number of the next structure, counted over all inputs
  int64_t filtered_ = 0;
  int64_t references_ = 0;  // number of isolated atoms, which are not filtered
};

class Pipeline {
 public:
  Pipeline(const StructureStreamOptions& options, StructureConsumer* consumer)
      : options_(options), consumer_(consumer), pool_(options.num_threads) {}

  absl::Status Compute(const Chunk& chunk) {
    consumer_->Reserve(chunk.count);
    status_.assign(chunk.count, absl::OkStatus());
    pool_.For(chunk.count, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t s = begin; s < end; ++s) status_[s] = consumer_->Compute(chunk.structures[s], s, thread);
    });
    for (const absl::Status& status : status_) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  // Emits the chunk's structures in order, and counts them.
  absl::Status Emit(const Chunk& chunk, StructureStreamStats* stats) {
    const ProfileScope scope(Stage::kWrite);
    for (int64_t s = 0; s < chunk.count; ++s) {
      const Structure& structure = chunk.structures[s].structure;
      RETURN_IF_ERROR(consumer_->Emit(chunk.structures[s], s));
      if (options_.on_structure) options_.on_structure(structure);
      ++stats->structures;
      stats->atoms += structure.size();
      stats->without_force += structure.force.empty();
      stats->without_stress += !structure.stress.has_value();
      for (const uint8_t element : structure.element) stats->elements.set(element);
      stats->without_weight += !chunk.structures[s].has_weight;
      const auto config = structure.info.find(kConfigType);
      stats->without_config += config == structure.info.end() || config->second.empty();
      if (!structure.energy.has_value()) {
        ++stats->without_energy;
        continue;
      }
      const double energy = ReferencedEnergyPerAtom(structure, options_.atomic_energies);
      stats->lowest_energy = std::min(stats->lowest_energy, energy);
      stats->highest_energy = std::max(stats->highest_energy, energy);
    }
    return absl::OkStatus();
  }

 private:
  const StructureStreamOptions& options_;
  StructureConsumer* const consumer_;
  ThreadPool pool_;
  std::vector<absl::Status> status_;
};

}  // namespace

absl::StatusOr<StructureStreamStats> StreamStructures(absl::Span<const std::string> inputs,
                                                      const StructureStreamOptions& options, int64_t chunk_atoms,
                                                      StructureConsumer* consumer) {
  Pipeline pipeline(options, consumer);
  ChunkReader reader(inputs, options, chunk_atoms, consumer);
  StructureStreamStats stats;
  RETURN_IF_ERROR(ForEachChunk<Chunk>(
      options.num_threads > 1, [&](Chunk* chunk) { return reader.Read(chunk); },
      [&](Chunk* chunk) {
        RETURN_IF_ERROR(pipeline.Compute(*chunk));
        return pipeline.Emit(*chunk, &stats);
      },
      [&](Chunk* chunk) {
        if (options.on_progress) options.on_progress(chunk->count);
        return absl::OkStatus();
      }));
  stats.filtered = reader.filtered();
  const bool only_references = options.num_shards == 1 && stats.filtered > 0 && stats.structures == reader.references();
  if (stats.structures == 0 || only_references) {
    std::string text = absl::StrCat("no structure is left", stats.structures > 0 ? " but isolated atoms" : "", ": ",
                                    reader.number(), " were read");
    if (stats.filtered > 0) {
      absl::StrAppend(&text, ", ", stats.filtered, " of them left out by ", reader.DescribeFilter());
    }
    if (options.num_shards > 1) absl::StrAppend(&text, ", the rest not in this shard");
    return absl::InvalidArgumentError(text);
  }
  if (!options.weight_key.empty() && options.num_shards == 1 && stats.without_weight == stats.structures) {
    return absl::InvalidArgumentError(absl::StrCat("no structure has ", options.weight_key,
                                                   ": --weight_key names the key of a frame with its weight"));
  }
  return stats;
}

}  // namespace rutile
