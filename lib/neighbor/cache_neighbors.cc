#include "lib/neighbor/cache_neighbors.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/triplets.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Number of atoms in a chunk. Lists of more atoms would leave the cache before they are written; triplets take a
// hundred times the memory of pairs.
constexpr int64_t kChunkAtoms = 1 << 11;
constexpr int64_t kChunkAtomsWithTriplets = 1 << 8;

// Results of one structure, stored until Emit writes them.
struct Slot {
  NeighborList list;
  TripletList triplets;
  bool too_close = false;
};

class Cacher : public StructureConsumer {
 public:
  Cacher(const CacheNeighborsOptions& options, NeighborWriter* writer) : options_(options), writer_(writer) {
    NeighborOptions search;
    search.vectors = options.vectors.has_value() || options.triplet_cutoff > 0;
    for (int t = 0; t < options.num_threads; ++t) searches_.emplace_back(options.cutoff, search);
  }

  const CacheNeighborsStats& stats() const { return stats_; }

  absl::Status Accept(const NeighborFile& file) override {
    return absl::InvalidArgumentError(
        absl::StrCat(file.file.path, ": holds neighbors already, expected structures to look for them in"));
  }

  void Reserve(int64_t n) override {
    if (static_cast<int64_t>(slots_.size()) < n) slots_.resize(n);
  }

  absl::Status Compute(const StreamedStructure& in, int64_t slot, int thread) override {
    Slot& out = slots_[slot];
    absl::Status status = Search(in.structure, thread, &out.list);
    if (status.ok() && options_.triplet_cutoff > 0) {
      const ProfileScope scope(Stage::kTriplets);
      status = FindTriplets(out.list, options_.triplet_cutoff, &out.triplets);
      scope.Add(Counter::kTriplets, out.triplets.num_triplets());
    }
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(in.structure.name, ": ", status.message()));
    out.too_close = out.list.nearest_squared <= options_.min_cutoff * options_.min_cutoff;
    return absl::OkStatus();
  }

  absl::Status Emit(const StreamedStructure& in, int64_t slot) override {
    const Slot& out = slots_[slot];
    const bool triplets = options_.triplet_cutoff > 0;
    RETURN_IF_ERROR(writer_->Append(in.structure, out.list, triplets ? &out.triplets : nullptr, in.weight));
    stats_.pairs += out.list.num_pairs();
    if (triplets) stats_.triplets += out.triplets.num_triplets();
    if (out.too_close && stats_.too_close++ == 0) stats_.first_too_close = in.structure.name;
    return absl::OkStatus();
  }

 private:
  absl::Status Search(const Structure& structure, int thread, NeighborList* list) {
    const ProfileScope scope(Stage::kSearch);
    RETURN_IF_ERROR(searches_[thread].Compute(structure, list));
    scope.Add(Counter::kAtoms, structure.size());
    scope.Add(Counter::kPairs, list->num_pairs());
    return absl::OkStatus();
  }

  const CacheNeighborsOptions& options_;
  NeighborWriter* const writer_;
  std::vector<NeighborSearch> searches_;  // one per thread
  std::vector<Slot> slots_;
  CacheNeighborsStats stats_;
};

}  // namespace

absl::StatusOr<CacheNeighborsStats> CacheNeighbors(absl::Span<const std::string> inputs, absl::string_view output,
                                                   const CacheNeighborsOptions& options, const Metadata& provenance) {
  if (!(options.cutoff > 0 && options.cutoff <= kLongestCutoff)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--cutoff=", options.cutoff, ": expected a distance in Angstrom, above 0 and at most ", kLongestCutoff));
  }
  if (!(options.triplet_cutoff >= 0 && options.triplet_cutoff <= options.cutoff)) {
    return absl::InvalidArgumentError(absl::StrCat("--ang_cutoff=", options.triplet_cutoff,
                                                   ": triplets need their neighbors to be within the cutoff, ",
                                                   options.cutoff));
  }
  NeighborFileOptions file;
  file.cutoff = options.cutoff;
  file.species = options.species;
  file.descriptor = options.descriptor;
  file.vectors = options.vectors;
  file.triplet_cutoff = options.triplet_cutoff;
  file.weights = !options.weight_key.empty();
  file.atomic_energies = options.atomic_energies;
  ASSIGN_OR_RETURN(NeighborWriter writer, NeighborWriter::Create(output, file));
  Cacher cacher(options, &writer);
  ASSIGN_OR_RETURN(
      const StructureStreamStats common,
      StreamStructures(inputs, options, options.triplet_cutoff > 0 ? kChunkAtomsWithTriplets : kChunkAtoms, &cacher));
  CacheNeighborsStats stats = cacher.stats();
  static_cast<StructureStreamStats&>(stats) = common;
  Metadata metadata = provenance;
  metadata["config_key"] = options.config_key;
  if (!options.weight_key.empty()) metadata["weight_key"] = options.weight_key;
  const ProfileScope scope(Stage::kWrite);
  RETURN_IF_ERROR(writer.Finish(metadata));
  return stats;
}

}  // namespace rutile
