// Neighbors of every atom within a cutoff, in any cell.

#ifndef RUTILE_LIB_NEIGHBOR_NEIGHBOR_LIST_H_
#define RUTILE_LIB_NEIGHBOR_NEIGHBOR_LIST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "lib/structure/structure.h"

namespace rutile {

// A full list in CSR form: both i -> j and j -> i. r_ij = r_j + shift . cell - r_i points from i to j.
// The neighbors of an atom are ordered by (j, shift_x, shift_y, shift_z), whatever the algorithm.
struct NeighborList {
  std::vector<int64_t> offset;     // [N + 1]: pairs of atom i are [offset[i], offset[i + 1])
  std::vector<int32_t> j;          // [P]
  std::vector<int16_t> shift;      // [3P] lattice vectors, relative to positions as given; 0 where not periodic. Empty
                                   // if NeighborOptions::shifts is false
  std::vector<double> dx, dy, dz;  // [P] r_ij in Angstrom. Empty if NeighborOptions::vectors is false
  // Angstrom^2, of the nearest pair; infinite without pairs
  double nearest_squared = std::numeric_limits<double>::infinity();

  int64_t num_pairs() const { return static_cast<int64_t>(j.size()); }
};

// Atoms nearer than this cannot be meant: 0.1 Angstrom.
inline constexpr double kSmallestDistance = 0.1;

// All algorithms give the same list, bit for bit.
enum class NeighborAlgorithm {
  kFastest,  // whichever suits the size
  kImages,   // every atom against all images near the whole cell: O(N^2) tests, nothing to sort
  kCells,    // blocks of neighboring atoms, each against the images near the block: O(N)
};

struct NeighborOptions {
  bool shifts = true;   // false saves time where only vectors and j are wanted
  bool vectors = true;  // false saves memory, 24 of 34 bytes a pair, where only j and shifts are wanted
  NeighborAlgorithm algorithm = NeighborAlgorithm::kFastest;
};

// Finds lists of one structure after another, reusing its scratch memory; one object per thread.
class NeighborSearch {
 public:
  // cutoff in Angstrom, > 0. Pairs with 0 < r <= cutoff are listed (an atom is its own neighbor in another image).
  explicit NeighborSearch(double cutoff, NeighborOptions options = {});
  ~NeighborSearch();
  NeighborSearch(NeighborSearch&&) noexcept;

  // Fills `list`, reusing its memory. An image loop for small cells, a cell list for large ones: same list.
  // INVALID_ARGUMENT: a periodic cell that is singular or thinner than the cutoff by more than 1000 times, a position
  // that is not finite, two atoms nearer than kSmallestDistance (naming both, counted from 1, and the distance).
  // Messages do not start with the structure's name: callers add it. After an error the list holds nothing of use.
  absl::Status Compute(const Structure& structure, NeighborList* list);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

// The definition: every pair, every image that could be near enough. Same contract as NeighborSearch::Compute, O(N^2).
absl::Status BruteForceNeighborList(const Structure& structure, double cutoff, NeighborList* list);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_NEIGHBOR_LIST_H_
