// Energies, forces and stresses of a data set as columns of their own, for labels that differ from those of its files.

#ifndef RUTILE_LIB_POTENTIAL_DATA_ATOMIC_LABELS_H_
#define RUTILE_LIB_POTENTIAL_DATA_ATOMIC_LABELS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

class AtomicData;

struct AtomicLabels {
  std::vector<double> energy;         // [S] eV, total; NaN without one
  std::vector<int64_t> force_offset;  // [S + 1]: components of structure s are [force_offset[s], force_offset[s + 1])
  std::vector<double> force;          // eV/Angstrom; none of a structure without forces
  std::vector<double> stress;         // [9S] eV/Angstrom^3; 0 without one

  absl::Span<const double> force_of(int64_t s) const {
    return absl::MakeConstSpan(force).subspan(force_offset[s], force_offset[s + 1] - force_offset[s]);
  }
};

// Copies the labels of the data.
AtomicLabels LabelsOf(const AtomicData& data);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_LABELS_H_
