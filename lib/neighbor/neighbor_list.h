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

// All pairs of atoms within a cutoff, as descriptors and potentials need them: a full list in CSR form, with both i ->
// j and j -> i. r_ij = r_j + shift . cell - r_i points from i to j. The neighbors of an atom are ordered by (j,
// shift_x, shift_y, shift_z), whatever the algorithm.
struct NeighborList {
  std::vector<int64_t> offset;     // [N + 1]: pairs of atom i are [offset[i], offset[i + 1])
  std::vector<int32_t> j;          // [P]
  std::vector<int16_t> shift;      // [3P] lattice vectors, relative to positions as given; 0 where not periodic. Empty
                                   // if NeighborOptions::shifts is false
  std::vector<double> dx, dy, dz;  // [P] r_ij in Angstrom. Empty if NeighborOptions::vectors is false
  // Squared distance of the nearest pair in Angstrom^2; infinite without pairs.
  double nearest_squared = std::numeric_limits<double>::infinity();

  int64_t num_pairs() const { return static_cast<int64_t>(j.size()); }
};

// Longest cutoff in Angstrom; at this length an atom has thousands of neighbors.
inline constexpr double kLongestCutoff = 20;

// Smallest distance of two atoms in Angstrom; nearer atoms are an error in the input.
inline constexpr double kSmallestDistance = 0.1;

// How pairs are searched. All algorithms give the same list, bit for bit.
enum class NeighborAlgorithm {
  kFastest,  // chooses by the number of atoms
  kImages,   // every atom against all images near the whole cell: O(N^2) tests, nothing to sort
  kCells,    // blocks of neighboring atoms, each against the images near the block: O(N)
};

// Which parts of a list are wanted, and how it is found.
struct NeighborOptions {
  bool shifts = true;   // false saves time where only vectors and j are wanted
  bool vectors = true;  // false saves memory, 24 of 34 bytes a pair, where only j and shifts are wanted
  NeighborAlgorithm algorithm = NeighborAlgorithm::kFastest;
};

// Finds the neighbor lists of structures, one after another, reusing its scratch memory. Use one object per thread.
//
//   NeighborSearch search(/*cutoff=*/6.0);
//   NeighborList list;
//   for (const Structure& structure : structures) {
//     RETURN_IF_ERROR(search.Compute(structure, &list));
//     for (int64_t p = list.offset[i]; p < list.offset[i + 1]; ++p) Use(list.j[p], list.dx[p], list.dy[p], list.dz[p]);
//   }
class NeighborSearch {
 public:
  // cutoff: in Angstrom, > 0. Pairs with 0 < r <= cutoff are listed (an atom may be its own neighbor in another image).
  explicit NeighborSearch(double cutoff, NeighborOptions options = {});
  ~NeighborSearch();
  NeighborSearch(NeighborSearch&&) noexcept;

  // Fills `list`, reusing its memory: by an image loop for small cells, by a cell list for large ones.
  // INVALID_ARGUMENT: a periodic cell that is singular, or more than 1000 times thinner than the cutoff; a position
  // that is not finite; two atoms nearer than kSmallestDistance (the message names both, counted from 1, and the
  // distance). Messages do not start with the structure's name: callers add it. After an error the content of the list
  // is unspecified.
  absl::Status Compute(const Structure& structure, NeighborList* list);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

// Defines the result by testing every pair in every image that could be near enough. It has the contract of
// NeighborSearch::Compute and takes O(N^2) time; only tests and benchmarks call it.
absl::Status BruteForceNeighborList(const Structure& structure, double cutoff, NeighborList* list);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_NEIGHBOR_LIST_H_
