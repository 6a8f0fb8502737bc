// Finds the neighbors of all structures once and caches them, in memory or in a file that later runs reuse.

#ifndef RUTILE_LIB_POTENTIAL_DATA_PAIR_CACHE_H_
#define RUTILE_LIB_POTENTIAL_DATA_PAIR_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/neighbor/triplets.h"
#include "lib/structure/structure.h"

namespace rutile {

// Overwrites `structure` with structure s. Several threads may call it at the same time.
using LoadStructure = std::function<void(int64_t s, Structure* structure)>;

// Finds the pairs of one structure at a time, from any number of threads, with scratch memory that is reused.
class PairFinder {
 public:
  explicit PairFinder(double cutoff) : cutoff_(cutoff) {}

  // Calls `use` with the structure's list, from which it may move parts. Returns errors of the neighbor search,
  // prefixed by the structure's name, and those of `use`.
  absl::Status Find(int64_t s, const LoadStructure& load,
                    const std::function<absl::Status(const Structure& structure, NeighborList* list)>& use);

 private:
  struct Scratch {
    explicit Scratch(double cutoff) : search(cutoff) {}
    NeighborSearch search;
    Structure structure;
    NeighborList list;
  };

  const double cutoff_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

struct PairCacheOptions {
  double cutoff = 0;          // Angstrom
  double triplet_cutoff = 0;  // Angstrom; 0 for no triplets
  int64_t max_bytes = 0;
  int num_threads = 1;
};

// Pairs and triplets of structures in memory: 10 bytes a pair, 4 bytes a triplet, 8 or 16 bytes an atom.
class PairCache {
 public:
  // Finds the pairs of all structures. RESOURCE_EXHAUSTED: more than max_bytes would be needed. CANCELLED: after a
  // signal. Other errors are those of PairFinder.
  static absl::StatusOr<std::shared_ptr<const PairCache>> Make(int64_t num_structures, const LoadStructure& load,
                                                               const PairCacheOptions& options);

  PairView pairs(int64_t s) const;
  TripletView triplets(int64_t s) const;  // empty if triplets were not asked for
  int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Pairs {
    std::vector<int64_t> offset;
    std::vector<int32_t> j;
    std::vector<int16_t> shift;
    TripletList triplets;
  };
  std::vector<Pairs> structures_;
  int64_t num_bytes_ = 0;
};

// Returns the path of the file of kind atomistic.neighbors/1 in `directory` that holds these structures' neighbors,
// after writing it if it does not exist. It is named by a hash of structures and cutoffs. max_bytes is ignored: the
// file is not in memory.
absl::StatusOr<std::string> PairCacheFile(absl::string_view directory, int64_t num_structures,
                                          const LoadStructure& load, const PairCacheOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_PAIR_CACHE_H_
