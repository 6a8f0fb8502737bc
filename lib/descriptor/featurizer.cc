#include "lib/descriptor/featurizer.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/parallel_for.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/feature_file.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {
namespace {

// Atoms handled together: enough to keep threads busy, little enough to be a constant amount of memory.
constexpr int64_t kChunkAtoms = 1 << 14;

// Structures read and, later, their features. Vectors keep their memory from one use of a chunk to the next.
struct Chunk {
  std::vector<Structure> structures;
  int64_t count = 0;  // of structures in use
  bool last = false;
  std::vector<std::vector<uint8_t>> species;
  std::vector<std::vector<float>> features32;
  std::vector<std::vector<double>> features64;
  std::vector<int64_t> pairs;
  std::vector<uint8_t> too_close;
  std::vector<absl::Status> status;

  void Reserve(int64_t n) {
    if (static_cast<int64_t>(structures.size()) >= n) return;
    structures.resize(n);
    species.resize(n);
    features32.resize(n);
    features64.resize(n);
    pairs.resize(n);
    too_close.resize(n);
    status.resize(n);
  }
};

double ReferencedEnergyPerAtom(const Structure& structure, const std::map<uint8_t, double>& atomic_energies) {
  double energy = *structure.energy;
  for (const uint8_t element : structure.element) {
    const auto found = atomic_energies.find(element);
    if (found != atomic_energies.end()) energy -= found->second;
  }
  return energy / structure.size();
}

bool IsFiltered(const Structure& structure, const FeaturizeOptions& options) {
  if (std::isfinite(options.max_energy) && structure.energy.has_value() &&
      ReferencedEnergyPerAtom(structure, options.atomic_energies) > options.max_energy) {
    return true;
  }
  return std::isfinite(options.max_forces) && std::any_of(structure.force.begin(), structure.force.end(),
                                                          [&](double f) { return std::abs(f) > options.max_forces; });
}

// Goes through the inputs, leaving out what shard and filters leave out.
class ChunkReader {
 public:
  ChunkReader(absl::Span<const std::string> inputs, const FeaturizeOptions& options)
      : inputs_(inputs), options_(options) {}

  absl::Status Read(Chunk* chunk) {
    chunk->count = 0;
    int64_t atoms = 0;
    while (atoms < kChunkAtoms) {
      chunk->Reserve(chunk->count + 1);
      Structure& structure = chunk->structures[chunk->count];
      ASSIGN_OR_RETURN(const bool more, Next(&structure));
      if (!more) {
        chunk->last = true;
        return absl::OkStatus();
      }
      if (number_++ % options_.num_shards != options_.shard - 1) continue;
      if (IsFiltered(structure, options_)) {
        ++filtered_;
        continue;
      }
      atoms += structure.size();
      ++chunk->count;
    }
    return absl::OkStatus();
  }

  int64_t number() const { return number_; }
  int64_t filtered() const { return filtered_; }

 private:
  absl::StatusOr<bool> Next(Structure* structure) {
    while (true) {
      RETURN_IF_ERROR(CheckInterrupt());
      if (reader_ == nullptr) {
        if (next_input_ == inputs_.size()) return false;
        ASSIGN_OR_RETURN(reader_, StructureReader::Open(inputs_[next_input_++], options_.reader));
      }
      ASSIGN_OR_RETURN(const bool more, reader_->Next(structure));
      if (more) return true;
      reader_.reset();
    }
  }

  const absl::Span<const std::string> inputs_;
  const FeaturizeOptions& options_;
  std::unique_ptr<StructureReader> reader_;
  size_t next_input_ = 0;
  int64_t number_ = 0;  // of the next structure, counted over all inputs
  int64_t filtered_ = 0;
};

// Descriptors look at vectors alone: lattice shifts, a tenth to a fifth of the search, are left out.
NeighborOptions NoShifts() {
  NeighborOptions options;
  options.shifts = false;
  return options;
}

// What one thread needs from structure to features.
struct Worker {
  explicit Worker(const Descriptor& descriptor)
      : search(descriptor.cutoff(), NoShifts()), workspace(descriptor.MakeWorkspace()) {}
  NeighborSearch search;
  NeighborList neighbors;
  std::unique_ptr<Descriptor::Workspace> workspace;
};

bool HasPairAtOrBelow(const NeighborList& list, double distance) {
  const double limit = distance * distance;
  bool found = false;
  for (int64_t p = 0; p < list.num_pairs(); ++p) {
    found |= list.dx[p] * list.dx[p] + list.dy[p] * list.dy[p] + list.dz[p] * list.dz[p] <= limit;
  }
  return found;
}

class Pipeline {
 public:
  explicit Pipeline(const FeaturizeOptions& options)
      : options_(options),
        descriptor_(MakeDescriptor(options.descriptor, options.angular)),
        species_map_(options.descriptor.species),
        pool_(options.num_threads) {
    for (int t = 0; t < pool_.num_threads(); ++t) workers_.emplace_back(*descriptor_);
  }

  absl::Status Compute(Chunk* chunk) {
    pool_.For(chunk->count, 1, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t s = begin; s < end; ++s) chunk->status[s] = ComputeOne(chunk, s, &workers_[worker]);
    });
    for (int64_t s = 0; s < chunk->count; ++s) RETURN_IF_ERROR(chunk->status[s]);
    return absl::OkStatus();
  }

  // Hands the chunk on, in order, and counts.
  absl::Status Emit(const Chunk& chunk, const std::function<absl::Status(const FeaturizedStructure&)>& sink,
                    FeaturizeStats* stats) {
    for (int64_t s = 0; s < chunk.count; ++s) {
      const Structure& structure = chunk.structures[s];
      RETURN_IF_ERROR(sink({structure, chunk.species[s], chunk.features32[s], chunk.features64[s]}));
      ++stats->structures;
      stats->atoms += structure.size();
      stats->pairs += chunk.pairs[s];
      stats->without_force += structure.force.empty();
      if (chunk.too_close[s] && stats->too_close++ == 0) stats->first_too_close = structure.name;
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
  absl::Status ComputeOne(Chunk* chunk, int64_t s, Worker* worker) {
    Structure& structure = chunk->structures[s];
    if (options_.config_key != "config_type") {
      const auto found = structure.info.find(options_.config_key);
      structure.info["config_type"] = found == structure.info.end() ? "" : found->second;
    }
    RETURN_IF_ERROR(species_map_.Map(structure, &chunk->species[s]));
    if (absl::Status status = worker->search.Compute(structure, &worker->neighbors); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(structure.name, ": ", status.message()));
    }
    chunk->pairs[s] = worker->neighbors.num_pairs();
    chunk->too_close[s] = HasPairAtOrBelow(worker->neighbors, options_.descriptor.min_cutoff);
    const int64_t size = structure.size() * descriptor_->num_features();
    if (options_.precision == DType::kF64) {
      chunk->features64[s].resize(size);
      descriptor_->Compute(chunk->species[s], worker->neighbors, worker->workspace.get(),
                           absl::MakeSpan(chunk->features64[s]));
    } else {
      chunk->features32[s].resize(size);
      descriptor_->Compute(chunk->species[s], worker->neighbors, worker->workspace.get(),
                           absl::MakeSpan(chunk->features32[s]));
    }
    return absl::OkStatus();
  }

  const FeaturizeOptions& options_;
  const std::unique_ptr<const Descriptor> descriptor_;
  const SpeciesMap species_map_;
  ThreadPool pool_;
  std::vector<Worker> workers_;
};

}  // namespace

absl::StatusOr<FeaturizeStats> ForEachFeaturized(absl::Span<const std::string> inputs, const FeaturizeOptions& options,
                                                 const std::function<absl::Status(const FeaturizedStructure&)>& sink) {
  RETURN_IF_ERROR(options.descriptor.Validate());
  Pipeline pipeline(options);
  ChunkReader reader(inputs, options);
  FeaturizeStats stats;
  // Two chunks: with more than one thread the next is read while this one is computed and written.
  Chunk chunks[2];
  RETURN_IF_ERROR(reader.Read(&chunks[0]));
  for (int current = 0;; current ^= 1) {
    Chunk& chunk = chunks[current];
    Chunk& next = chunks[current ^ 1];
    std::future<absl::Status> reading;
    if (!chunk.last && options.num_threads > 1) {
      reading = std::async(std::launch::async, [&] { return reader.Read(&next); });
    }
    absl::Status status = pipeline.Compute(&chunk);
    if (status.ok()) status = pipeline.Emit(chunk, sink, &stats);
    if (reading.valid()) {
      // What comes first in the input is reported first, for any number of threads.
      const absl::Status read_status = reading.get();
      if (status.ok()) status = read_status;
    }
    RETURN_IF_ERROR(status);
    if (options.on_progress) options.on_progress(chunk.count);
    if (chunk.last) break;
    if (options.num_threads == 1) RETURN_IF_ERROR(reader.Read(&next));
  }
  stats.filtered = reader.filtered();
  if (stats.structures == 0) {
    return absl::InvalidArgumentError(absl::StrCat("no structure is left: ", reader.number(), " were read, ",
                                                   stats.filtered, " of them left out by --max_energy and --max_forces",
                                                   options.num_shards > 1 ? ", the rest not in this shard" : ""));
  }
  return stats;
}

absl::StatusOr<FeaturizeStats> Featurize(absl::Span<const std::string> inputs, absl::string_view output,
                                         const FeaturizeOptions& options, const Metadata& provenance) {
  ASSIGN_OR_RETURN(FeatureWriter writer,
                   FeatureWriter::Create(output, options.descriptor, options.precision, options.atomic_energies));
  ASSIGN_OR_RETURN(const FeaturizeStats stats, ForEachFeaturized(inputs, options, [&](const FeaturizedStructure& s) {
                     return options.precision == DType::kF64 ? writer.Append(s.structure, s.species, s.features64)
                                                             : writer.Append(s.structure, s.species, s.features32);
                   }));
  Metadata metadata = provenance;
  metadata["config_key"] = options.config_key;
  RETURN_IF_ERROR(writer.Finish(metadata));
  return stats;
}

}  // namespace rutile
