// Defines Structure, a set of atoms with or without a cell, and the energy, forces and stress computed for it.

#ifndef RUTILE_LIB_STRUCTURE_STRUCTURE_H_
#define RUTILE_LIB_STRUCTURE_STRUCTURE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rutile {

// A row-major 3x3 matrix. Of a cell, the rows are the lattice vectors in Angstrom; rows may be zero along directions
// that are not periodic.
using Matrix3 = std::array<double, 9>;

// Atoms in a cell with their labels. docs/units.md gives the conventions of units and signs.
struct Structure {
  std::string name;              // "file.extxyz#12", frames counted from 0; "file.xsf" alone where the file holds one
  std::vector<uint8_t> element;  // [N] atomic numbers
  std::vector<double> position;  // [3N] Angstrom, as given: not wrapped into the cell
  Matrix3 cell = {};             // Angstrom
  std::array<bool, 3> pbc = {false, false, false};
  std::optional<double> energy;             // eV, total, as given
  std::vector<double> force;                // [3N] eV/Angstrom, or empty
  std::optional<Matrix3> stress;            // eV/Angstrom^3, positive in tension (virial = -V * stress)
  std::map<std::string, std::string> info;  // other facts in the file: "config_type" -> "rutile"
  // Names under which an extended XYZ file has the energy and the forces; "" in other formats and without the label.
  std::string energy_key, force_key;

  int64_t size() const { return static_cast<int64_t>(element.size()); }
  void Clear() { *this = Structure(); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_STRUCTURE_H_
