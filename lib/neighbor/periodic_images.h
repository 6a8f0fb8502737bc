// The atoms of a structure and the lattice images within reach, laid out for the vectorized searches.

#ifndef RUTILE_LIB_NEIGHBOR_PERIODIC_IMAGES_H_
#define RUTILE_LIB_NEIGHBOR_PERIODIC_IMAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/neighbor/search_input.h"
#include "lib/structure/structure.h"

namespace rutile {

// Number of floats that a kernel may read or write beyond the end of an array.
inline constexpr size_t kPadding = 16;

// A coordinate that is far from every atom, and whose square is still finite in float.
inline constexpr float kFarAway = 1e18f;

// Makes `v` at least n long, leaving its content unspecified. Memory is never freed.
template <typename T>
void GrowTo(size_t n, std::vector<T>* v) {
  if (v->size() < n) v->resize(n + n / 2);
}

// Coordinates for a fast search in float. Atoms are brought near each other by whole lattice vectors (`wrap`), moved to
// a common center and rounded to float. That is accurate enough to find the pairs that may be within reach, because
// `reach` includes the rounding; exact vectors come from positions as given and a table of shift vectors. A pair of
// atoms i, j in the image t has
//   shift = image(t) + wrap(j) - wrap(i)   and the table's row   image_row[t] + wrap_row[j] - wrap_row[i].
struct PeriodicImages {
  int64_t num_atoms = 0;
  double room = 0;  // Angstrom, allowance for the rounding of float coordinates
  float reach = 0;  // search radius plus `room`

  std::vector<float> x, y, z;        // [N + kPadding] wrapped, Angstrom
  std::vector<int32_t> wrap;         // [3N] lattice vectors added to the positions as given
  std::vector<double> position;      // [4N] as given: x y z 0
  std::array<int32_t, 3> most = {};  // images run from -most to +most along each lattice vector
  int32_t num_images = 0;            // T
  int32_t home = 0;                  // the image 0 0 0
  std::vector<float> ix, iy, iz;     // [T + kPadding] image vectors; padded with kFarAway
  std::vector<int32_t> image;        // [3T] ordered
  bool has_table = false;            // false where atoms lie so far apart that the table would be too large
  std::vector<int32_t> image_row;    // [T + kPadding]
  std::vector<int32_t> wrap_row;     // [N + kPadding]
  std::vector<double> table_vector;  // [4 rows] shift . cell
  std::vector<int16_t> table_shift;  // [4 rows]
};

// Fills `images`, reusing its memory. With wrap_all, every atom is moved into the cell; otherwise only along directions
// in which the atoms span more than about one cell, which keeps the table small and molecules whole.
void MakePeriodicImages(const Structure& structure, const SearchInput& input, double reach, bool wrap_all,
                        PeriodicImages* images);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_PERIODIC_IMAGES_H_
