// A set of atoms in a cell (or none), with what was computed for it.

#ifndef RUTILE_LIB_STRUCTURE_STRUCTURE_H_
#define RUTILE_LIB_STRUCTURE_STRUCTURE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rutile {

// Row-major 3x3; rows are the lattice vectors, in Angstrom. Zero rows where a direction is not periodic are allowed.
using Matrix3 = std::array<double, 9>;

struct Structure {
  std::string name;              // "file.extxyz#12", frames counted from 0; "file.xsf" alone where the file holds one
  std::vector<uint8_t> element;  // [N] atomic numbers
  std::vector<double> position;  // [3N] Angstrom, as given: not wrapped into the cell
  Matrix3 cell = {};             // Angstrom
  std::array<bool, 3> pbc = {false, false, false};
  std::optional<double> energy;             // eV, total, as given
  std::vector<double> force;                // [3N] eV/Angstrom, or empty
  std::optional<Matrix3> stress;            // eV/Angstrom^3, positive in tension (virial = -V * stress)
  std::map<std::string, std::string> info;  // whatever else the file says of the frame: "config_type" -> "rutile"

  int64_t size() const { return static_cast<int64_t>(element.size()); }
  void Clear() { *this = Structure(); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_STRUCTURE_H_
