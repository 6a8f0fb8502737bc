#include "lib/potential/data/pair_cache.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/machine/parallel_for.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/structure_file.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The number of structures that are searched together for a file: enough for all threads, in a constant amount of
// memory.
constexpr int64_t kChunk = 64;

template <typename T>
int64_t Bytes(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

std::string CacheName(int64_t num_structures, const LoadStructure& load, const PairCacheOptions& options) {
  StructureHash hash;
  Structure structure;
  for (int64_t s = 0; s < num_structures; ++s) {
    load(s, &structure);
    hash.Add(structure.element, structure.position, structure.cell, structure.pbc);
  }
  // %.17g is exact, so that different cutoffs have different keys.
  const std::string key = absl::StrFormat("%s %.17g %.17g", hash.HexDigest(), options.cutoff, options.triplet_cutoff);
  return absl::StrCat("neighbors-", Sha256Hex(key).substr(0, 16), ".safetensors");
}

// Neighbors of the structures of one chunk, until they are written.
struct Found {
  Structure structure;
  NeighborList list;
  TripletList triplets;
  absl::Status status;
};

}  // namespace

absl::Status PairFinder::Find(int64_t s, const LoadStructure& load,
                              const std::function<absl::Status(const Structure&, NeighborList*)>& use) {
  std::unique_ptr<Scratch> scratch;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      scratch = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (scratch == nullptr) scratch = std::make_unique<Scratch>(cutoff_);
  load(s, &scratch->structure);
  absl::Status status;
  {
    const ProfileScope scope(Stage::kSearch);
    status = scratch->search.Compute(scratch->structure, &scratch->list);
    scope.Add(Counter::kAtoms, scratch->structure.size());
    scope.Add(Counter::kPairs, scratch->list.num_pairs());
  }
  if (status.ok()) status = use(scratch->structure, &scratch->list);
  if (!status.ok()) {
    status = absl::Status(status.code(), absl::StrCat(scratch->structure.name, ": ", status.message()));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(scratch));
  return status;
}

absl::StatusOr<std::shared_ptr<const PairCache>> PairCache::Make(int64_t num_structures, const LoadStructure& load,
                                                                 const PairCacheOptions& options) {
  const auto cache = std::make_shared<PairCache>();
  cache->structures_.resize(num_structures);
  std::vector<absl::Status> status(num_structures);
  std::atomic<int64_t> bytes{0};
  PairFinder finder(options.cutoff);
  ThreadPool pool(options.num_threads);
  pool.For(num_structures, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t s = begin; s < end && bytes <= options.max_bytes; ++s) {
      status[s] = CheckInterrupt();
      if (!status[s].ok()) continue;
      status[s] = finder.Find(s, load, [&](const Structure&, NeighborList* list) {
        Pairs& pairs = cache->structures_[s];
        if (options.triplet_cutoff > 0) {
          if (absl::Status found = FindTriplets(*list, options.triplet_cutoff, &pairs.triplets); !found.ok()) {
            return found;
          }
        }
        // Copies have the size needed, while the list keeps its larger memory for the next structure.
        pairs.offset = list->offset;
        pairs.j = list->j;
        pairs.shift = list->shift;
        bytes += Bytes(pairs.offset) + Bytes(pairs.j) + Bytes(pairs.shift) + Bytes(pairs.triplets.offset) +
                 Bytes(pairs.triplets.a) + Bytes(pairs.triplets.b);
        return absl::OkStatus();
      });
    }
  });
  for (const absl::Status& s : status) RETURN_IF_ERROR(s);
  if (bytes > options.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the neighbors of ", num_structures, " structures", options.triplet_cutoff > 0 ? " and their triplets" : "",
        " need more than the ", options.max_bytes,
        " bytes of --cache_max_bytes: give --cache_dir to keep them in a file, allow more, or do not cache them"));
  }
  cache->num_bytes_ = bytes;
  return cache;
}

PairView PairCache::pairs(int64_t s) const {
  const Pairs& pairs = structures_[s];
  return {pairs.offset, pairs.j.data(), pairs.shift.data(), 0};
}

TripletView PairCache::triplets(int64_t s) const {
  const TripletList& triplets = structures_[s].triplets;
  return {triplets.offset, triplets.a.data(), triplets.b.data()};
}

absl::StatusOr<std::string> PairCacheFile(absl::string_view directory, int64_t num_structures,
                                          const LoadStructure& load, const PairCacheOptions& options) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  const std::string path = absl::StrCat(directory, "/", CacheName(num_structures, load, options));
  if (FileExists(path)) return path;
  NeighborFileOptions file_options;
  file_options.cutoff = options.cutoff;
  file_options.triplet_cutoff = options.triplet_cutoff;
  ASSIGN_OR_RETURN(NeighborWriter writer, NeighborWriter::Create(path, file_options));
  PairFinder finder(options.cutoff);
  ThreadPool pool(options.num_threads);
  std::vector<Found> chunk(std::min(kChunk, num_structures));
  for (int64_t first = 0; first < num_structures; first += kChunk) {
    RETURN_IF_ERROR(CheckInterrupt());
    const int64_t count = std::min(kChunk, num_structures - first);
    pool.For(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        Found& found = chunk[i];
        found.status = finder.Find(first + i, load, [&](const Structure& structure, NeighborList* list) {
          found.structure = structure;
          std::swap(found.list, *list);
          if (options.triplet_cutoff == 0) return absl::OkStatus();
          return FindTriplets(found.list, options.triplet_cutoff, &found.triplets);
        });
      }
    });
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(chunk[i].status);
      RETURN_IF_ERROR(
          writer.Append(chunk[i].structure, chunk[i].list, options.triplet_cutoff > 0 ? &chunk[i].triplets : nullptr));
    }
  }
  RETURN_IF_ERROR(writer.Finish({{"config_key", "config_type"}}));
  return path;
}

}  // namespace rutile
