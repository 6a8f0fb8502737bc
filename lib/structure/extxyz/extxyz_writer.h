// Writes structures as extended XYZ without loss: reading them back gives the same numbers bit for bit.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_WRITER_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_WRITER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/structure/structure.h"

namespace rutile {

// Appends one frame to `out`: species, pos, forces if present; Lattice unless it is zero; pbc; energy; stress; each
// pair of info, but for further energies and stresses of usual names, which the reader could take for the structure's.
// The name is not written. Numbers have as many digits as they need (at most 17). An info key that the reader
// interprets ("REF_energy" in a structure without energy) does not come back as info. CHECK-fails if the lengths of
// element, position and force disagree.
void AppendExtxyz(const Structure& structure, std::string* out);

// One number or several in the comment line of a frame.
struct ExtxyzValue {
  absl::string_view name;
  absl::Span<const double> numbers;
};

// A column of `width` numbers for each of N atoms.
struct ExtxyzColumn {
  absl::string_view name;
  char type;  // 'R', or 'I' for whole numbers
  int width;
  absl::Span<const double> numbers;  // [N, width]
};

// What a frame says of its atoms, in place of a structure's own labels.
struct ExtxyzLabels {
  std::vector<ExtxyzValue> values;
  std::vector<ExtxyzColumn> columns;
  std::map<std::string, std::string> texts;  // more pairs of the comment line
};

// Appends one frame as above, but with these labels instead of the structure's energy, forces and stress. Pairs of info
// are left out if they have the name of a label, or a usual name of energies, stresses and virials: a reader could take
// them for what the labels are. CHECK-fails if a column has another length than the structure.
void AppendExtxyz(const Structure& structure, const ExtxyzLabels& labels, std::string* out);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_WRITER_H_
