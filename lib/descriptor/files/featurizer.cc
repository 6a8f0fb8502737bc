#include "lib/descriptor/files/featurizer.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/descriptor_cost.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_vectors.h"
#include "lib/structure/species_map.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The number of atoms that are handled together: enough to keep threads busy, in a constant amount of memory.
constexpr int64_t kChunkAtoms = 1 << 14;

// Leaves out lattice shifts, a tenth to a fifth of the search: descriptors use vectors alone.
NeighborOptions NoShifts() {
  NeighborOptions options;
  options.shifts = false;
  return options;
}

// The scratch memory of one thread, from structure to features.
struct Worker {
  explicit Worker(const Descriptor& descriptor)
      : search(descriptor.cutoff(), NoShifts()), workspace(descriptor.MakeWorkspace()) {}
  NeighborSearch search;
  NeighborList neighbors;
  std::unique_ptr<Descriptor::Workspace> workspace;
};

// The results for one structure, until they are passed on in order.
struct Slot {
  std::vector<uint8_t> species;
  std::vector<float> features32;
  std::vector<double> features64;
  int64_t pairs = 0;
  bool too_close = false;
};

class Featurizer : public StructureConsumer {
 public:
  using Sink = std::function<absl::Status(const FeaturizedStructure&)>;

  Featurizer(const FeaturizeOptions& options, const Sink& sink)
      : options_(options),
        sink_(sink),
        descriptor_(MakeDescriptor(options.descriptor, options.angular)),
        cost_(options.descriptor, options.angular, options.precision == DType::kF64 ? 8 : 4, descriptor_->cutoff()),
        species_map_(options.descriptor.species) {
    for (int t = 0; t < options.num_threads; ++t) workers_.emplace_back(*descriptor_);
  }

  const FeaturizeStats& stats() const { return stats_; }

  absl::Status Accept(const NeighborFile& file) override {
    const std::string own = options_.descriptor.ToJson();
    if (!file.descriptor.empty() && file.descriptor != own) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.file.path, ": made for the descriptor ", file.descriptor, ", but wanted is ", own,
                       "; run cache-neighbors with the same flags, or with --cutoff for any descriptor"));
    }
    if (file.cutoff < descriptor_->cutoff()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.file.path, ": holds neighbors up to ", file.cutoff, " Angstrom, but the descriptor's cutoff is ",
          descriptor_->cutoff(), "; run cache-neighbors with --cutoff=", descriptor_->cutoff(), " or longer"));
    }
    return absl::OkStatus();
  }

  void Reserve(int64_t n) override {
    if (static_cast<int64_t>(slots_.size()) < n) slots_.resize(n);
  }

  absl::Status Compute(const StreamedStructure& in, int64_t slot, int thread) override {
    const Structure& structure = in.structure;
    Slot& out = slots_[slot];
    Worker& worker = workers_[thread];
    RETURN_IF_ERROR(species_map_.Map(structure, &out.species));
    RETURN_IF_ERROR(FindNeighbors(in, &worker));
    const ProfileScope scope(Stage::kFeatures);
    out.pairs = worker.neighbors.num_pairs();
    if (scope.is_on()) CountFeatures(scope, structure.size(), out.pairs);
    const double min_cutoff = options_.descriptor.min_cutoff;
    out.too_close = worker.neighbors.nearest_squared <= min_cutoff * min_cutoff;
    if (options_.precision == DType::kF64) {
      ComputeFeatures(&worker, out.species, &out.features64);
    } else {
      ComputeFeatures(&worker, out.species, &out.features32);
    }
    return absl::OkStatus();
  }

  absl::Status Emit(const StreamedStructure& in, int64_t slot) override {
    const Slot& out = slots_[slot];
    RETURN_IF_ERROR(sink_({in.structure, in.weight, out.species, out.features32, out.features64}));
    stats_.pairs += out.pairs;
    if (out.too_close && stats_.too_close++ == 0) stats_.first_too_close = in.structure.name;
    return absl::OkStatus();
  }

 private:
  absl::Status FindNeighbors(const StreamedStructure& in, Worker* worker) {
    const ProfileScope scope(Stage::kSearch);
    const Structure& structure = in.structure;
    if (in.neighbors != nullptr) {
      ListFromPairs(structure.position, structure.cell, in.neighbors->pairs(in.index), descriptor_->cutoff(),
                    &worker->neighbors);
    } else if (absl::Status status = worker->search.Compute(structure, &worker->neighbors); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(structure.name, ": ", status.message()));
    }
    scope.Add(Counter::kAtoms, structure.size());
    scope.Add(Counter::kPairs, worker->neighbors.num_pairs());
    return absl::OkStatus();
  }

  // Counts the bytes of positions and species read and of features written; neighbors stay in the cache.
  void CountFeatures(const ProfileScope& scope, int64_t atoms, int64_t pairs) const {
    const int64_t number = options_.precision == DType::kF64 ? 8 : 4;
    scope.Add(Counter::kAtoms, atoms);
    scope.Add(Counter::kPairs, pairs);
    scope.Add(Counter::kFlop, cost_.Features(atoms, pairs));
    scope.Add(Counter::kBytes, atoms * (3 * 8 + 1 + descriptor_->num_features() * number));
  }

  template <typename T>
  void ComputeFeatures(Worker* worker, absl::Span<const uint8_t> species, std::vector<T>* features) const {
    features->resize(species.size() * descriptor_->num_features());
    descriptor_->Compute(species, worker->neighbors, worker->workspace.get(), absl::MakeSpan(*features));
  }

  const FeaturizeOptions& options_;
  const Sink& sink_;
  const std::unique_ptr<const Descriptor> descriptor_;
  const DescriptorCost cost_;
  const SpeciesMap species_map_;
  std::vector<Worker> workers_;
  std::vector<Slot> slots_;
  FeaturizeStats stats_;
};

}  // namespace

absl::StatusOr<FeaturizeStats> ForEachFeaturized(absl::Span<const std::string> inputs, const FeaturizeOptions& options,
                                                 const std::function<absl::Status(const FeaturizedStructure&)>& sink) {
  RETURN_IF_ERROR(options.descriptor.Validate());
  Featurizer featurizer(options, sink);
  ASSIGN_OR_RETURN(const StructureStreamStats common, StreamStructures(inputs, options, kChunkAtoms, &featurizer));
  FeaturizeStats stats = featurizer.stats();
  static_cast<StructureStreamStats&>(stats) = common;
  return stats;
}

absl::StatusOr<FeaturizeStats> Featurize(absl::Span<const std::string> inputs, absl::string_view output,
                                         const FeaturizeOptions& options, const Metadata& provenance) {
  ASSIGN_OR_RETURN(FeatureWriter writer,
                   FeatureWriter::Create(output, options.descriptor, options.precision, options.atomic_energies,
                                         /*weights=*/!options.weight_key.empty()));
  ASSIGN_OR_RETURN(const FeaturizeStats stats, ForEachFeaturized(inputs, options, [&](const FeaturizedStructure& s) {
                     return options.precision == DType::kF64
                                ? writer.Append(s.structure, s.species, s.features64, s.weight)
                                : writer.Append(s.structure, s.species, s.features32, s.weight);
                   }));
  Metadata metadata = provenance;
  metadata["config_key"] = options.config_key;
  if (!options.weight_key.empty()) metadata["weight_key"] = options.weight_key;
  const ProfileScope scope(Stage::kWrite);
  RETURN_IF_ERROR(writer.Finish(metadata));
  return stats;
}

}  // namespace rutile
