#include "lib/neighbor/triplets.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace rutile {

absl::Status FindTriplets(const NeighborList& list, double cutoff, TripletList* triplets) {
  const int64_t num_atoms = static_cast<int64_t>(list.offset.size()) - 1;
  const double limit = cutoff * cutoff;
  triplets->offset.assign(1, 0);
  triplets->a.clear();
  triplets->b.clear();
  std::vector<uint16_t> near;
  for (int64_t i = 0; i < num_atoms; ++i) {
    const int64_t begin = list.offset[i], count = list.offset[i + 1] - begin;
    near.clear();
    for (int64_t k = 0; k < count; ++k) {
      const double x = list.dx[begin + k], y = list.dy[begin + k], z = list.dz[begin + k];
      if ((x * x + y * y) + z * z > limit) continue;
      if (k > std::numeric_limits<uint16_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat("atom ", i + 1, " has ", count,
                                                       " neighbors, more than the 65536 that triplets count; use a "
                                                       "shorter cutoff"));
      }
      near.push_back(static_cast<uint16_t>(k));
    }
    const size_t n = near.size(), first = triplets->a.size();
    triplets->a.resize(first + (n < 2 ? 0 : n * (n - 1) / 2));
    triplets->b.resize(triplets->a.size());
    uint16_t *a = triplets->a.data() + first, *b = triplets->b.data() + first;
    for (size_t p = 0; p + 1 < n; ++p) {
      const size_t rest = n - p - 1;
      a = std::fill_n(a, rest, near[p]);
      b = std::copy_n(near.data() + p + 1, rest, b);
    }
    triplets->offset.push_back(triplets->a.size());
  }
  return absl::OkStatus();
}

}  // namespace rutile
