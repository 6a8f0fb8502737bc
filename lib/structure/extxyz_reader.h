// Extended XYZ: per frame a count, a line of key=value pairs, a row for each atom. Plain XYZ is read as well.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_READER_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_READER_H_

#include <memory>

#include "lib/base/line_reader.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// Lattice: nine numbers, the lattice vectors one after the other. pbc: as given, else periodic where a Lattice is.
// Properties: species (or Z), pos, the forces; other columns are skipped. Without Properties: symbol x y z, and what
// stands behind is skipped. Energy, forces, stress (3x3 or xx yy zz yz xz xy) and virial under the names in `options`
// or extxyz_keys.h; stress and virial count only where the cell has a volume. All other pairs go to Structure::info, a
// comment without any "=" under "comment".
std::unique_ptr<StructureReader> MakeExtxyzReader(LineReader lines, const StructureReaderOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_READER_H_
