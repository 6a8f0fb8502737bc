// Leaves out structures of high energy or large forces.

#ifndef RUTILE_LIB_STRUCTURE_LABEL_FILTER_H_
#define RUTILE_LIB_STRUCTURE_LABEL_FILTER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// True for an atom whose energy is an atomic energy, which others are compared with: no limit applies to it.
bool IsIsolatedAtom(int64_t num_atoms, absl::string_view config_type);

// Compares labels with two limits, of which infinity is none, and remembers what comes nearest to them.
class LabelFilter {
 public:
  // max_energy: eV per atom; max_forces: eV/Angstrom. less_atomic_energies: whether the energies that LeavesOut gets
  // are less atomic energies, for Describe.
  LabelFilter(double max_energy, double max_forces, bool less_atomic_energies)
      : max_energy_(max_energy), max_forces_(max_forces), less_atomic_energies_(less_atomic_energies) {}

  // True for a structure above a limit. energy: eV per atom; force: [3N] eV/Angstrom, or empty. What a structure lacks
  // is not compared.
  bool LeavesOut(std::optional<double> energy, absl::Span<const double> force);

  // Says which limits there are, by their flags, what of energies they are compared with, and the range of the labels
  // that were seen.
  std::string Describe() const;

 private:
  struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void Add(double value);
    std::string Describe() const;
  };
  const double max_energy_, max_forces_;
  const bool less_atomic_energies_;
  Range energy_, largest_force_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_LABEL_FILTER_H_
