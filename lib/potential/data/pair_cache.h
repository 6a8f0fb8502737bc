// Neighbors found once and kept: in memory, or in a file that later runs find again.

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

// Fills `structure` with structure s, whatever was in it. Called by several threads.
using LoadStructure = std::function<void(int64_t s, Structure* structure)>;

// Finds pairs of one structure at a time for any number of threads, with scratch memory that is used again.
class PairFinder {
 public:
  explicit PairFinder(double cutoff) : cutoff_(cutoff) {}

  // Calls `use` with the structure's list, which it may take parts from. The neighbor search's errors, with the
  // structure's name before them, and those of `use`.
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
  double triplet_cutoff = 0;  // Angstrom; 0: no triplets
  int64_t max_bytes = 0;
  int num_threads = 1;
};

// In memory: 10 bytes a pair, 4 bytes a triplet, 8 or 16 bytes an atom.
class PairCache {
 public:
  // RESOURCE_EXHAUSTED: more than max_bytes would be needed; the errors of PairFinder. CANCELLED after a signal.
  static absl::StatusOr<std::shared_ptr<const PairCache>> Make(int64_t num_structures, const LoadStructure& load,
                                                               const PairCacheOptions& options);

  PairView pairs(int64_t s) const;
  TripletView triplets(int64_t s) const;  // empty without triplets
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

// The file of kind atomistic.neighbors/1 in `directory` that holds these structures' neighbors, and is written if it
// is not there. It is named by a hash of structures and cutoffs. max_bytes does not count: the file is not in memory.
absl::StatusOr<std::string> PairCacheFile(absl::string_view directory, int64_t num_structures,
                                          const LoadStructure& load, const PairCacheOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_PAIR_CACHE_H_
