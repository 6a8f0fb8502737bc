#include "lib/neighbor/pair_vectors.h"

#include <algorithm>
#include <limits>

#include "lib/base/logging.h"

namespace rutile {

void ListFromPairs(absl::Span<const double> position, const Matrix3& cell, const PairView& pairs, double cutoff,
                   NeighborList* list) {
  const int64_t num_atoms = pairs.num_atoms(), most = pairs.num_pairs();
  CHECK_EQ(static_cast<int64_t>(position.size()), 3 * num_atoms);
  list->offset.resize(num_atoms + 1);
  list->shift.clear();
  list->j.resize(most);
  list->dx.resize(most);
  list->dy.resize(most);
  list->dz.resize(most);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double limit = cutoff * cutoff;
  double nearest = kInfinity;
  int64_t n = 0;
  for (int64_t i = 0; i < num_atoms; ++i) {
    list->offset[i] = n;
    const double *const r = position.data(), *const ri = r + 3 * i;
    for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
      const int32_t j = pairs.j[p] - pairs.first_atom;
      const double* const rj = r + 3 * static_cast<int64_t>(j);
      const double sx = pairs.shift[3 * p], sy = pairs.shift[3 * p + 1], sz = pairs.shift[3 * p + 2];
      // The order of operations is that of search_input.h, which makes lists equal bit for bit.
      const double dx = (rj[0] - ri[0]) + ((sx * cell[0] + sy * cell[3]) + sz * cell[6]);
      const double dy = (rj[1] - ri[1]) + ((sx * cell[1] + sy * cell[4]) + sz * cell[7]);
      const double dz = (rj[2] - ri[2]) + ((sx * cell[2] + sy * cell[5]) + sz * cell[8]);
      list->j[n] = j;
      list->dx[n] = dx;
      list->dy[n] = dy;
      list->dz[n] = dz;
      const double d2 = (dx * dx + dy * dy) + dz * dz;
      nearest = std::min(nearest, d2);
      n += d2 <= limit;  // the next pair overwrites one that is too far
    }
  }
  list->offset[num_atoms] = n;
  list->nearest_squared = n > 0 ? nearest : kInfinity;
  list->j.resize(n);
  list->dx.resize(n);
  list->dy.resize(n);
  list->dz.resize(n);
}

}  // namespace rutile
