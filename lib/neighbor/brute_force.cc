// The definition of a neighbor list, written to be read. Every other search must give the same list, bit for bit.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/search_input.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

// Shifts s with | f_j + s - f_i | <= reach / width along one direction, plus room for the rounding of f.
struct ShiftRange {
  int first, last;
};

ShiftRange Shifts(const SearchInput& input, bool periodic, int64_t i, int64_t j, int k, double reach) {
  if (!periodic) return {0, 0};
  const double apart = input.fractional[3 * j + k] - input.fractional[3 * i + k];
  const double room = reach / input.width[k] + 1e-3;
  return {static_cast<int>(std::ceil(-room - apart)), static_cast<int>(std::floor(room - apart))};
}

void Clear(NeighborList* list) {
  list->offset.assign(1, 0);
  list->nearest_squared = std::numeric_limits<double>::infinity();
  list->j.clear();
  list->shift.clear();
  list->dx.clear();
  list->dy.clear();
  list->dz.clear();
}

}  // namespace

absl::Status BruteForceNeighborList(const Structure& structure, double cutoff, NeighborList* list) {
  SearchInput input;
  const double reach = SearchRadius(cutoff);
  RETURN_IF_ERROR(MakeSearchInput(structure, reach, &input));
  Clear(list);
  const std::vector<double>& r = structure.position;
  for (int64_t i = 0; i < structure.size(); ++i) {
    for (int64_t j = 0; j < structure.size(); ++j) {
      std::array<ShiftRange, 3> s;
      for (int k = 0; k < 3; ++k) s[k] = Shifts(input, structure.pbc[k], i, j, k, reach);
      for (int sx = s[0].first; sx <= s[0].last; ++sx) {
        for (int sy = s[1].first; sy <= s[1].last; ++sy) {
          for (int sz = s[2].first; sz <= s[2].last; ++sz) {
            if (i == j && sx == 0 && sy == 0 && sz == 0) continue;
            const Vector3 shift = ShiftVector(input.cell, sx, sy, sz);
            const double dx = (r[3 * j] - r[3 * i]) + shift[0];
            const double dy = (r[3 * j + 1] - r[3 * i + 1]) + shift[1];
            const double dz = (r[3 * j + 2] - r[3 * i + 2]) + shift[2];
            const double d2 = (dx * dx + dy * dy) + dz * dz;
            const std::array<int16_t, 3> shift16 = {static_cast<int16_t>(sx), static_cast<int16_t>(sy),
                                                    static_cast<int16_t>(sz)};
            if (d2 < kSmallestDistance * kSmallestDistance) return TooNear(i, j, shift16.data(), d2);
            if (d2 > cutoff * cutoff) continue;
            list->nearest_squared = std::min(list->nearest_squared, d2);
            list->j.push_back(static_cast<int32_t>(j));
            list->shift.insert(list->shift.end(), shift16.begin(), shift16.end());
            list->dx.push_back(dx);
            list->dy.push_back(dy);
            list->dz.push_back(dz);
          }
        }
      }
    }
    list->offset.push_back(list->num_pairs());
  }
  return absl::OkStatus();
}

}  // namespace rutile
