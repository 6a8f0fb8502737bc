// Reads extended XYZ: for each frame a count, a line of key=value pairs, and a row per atom. Plain XYZ is read as well.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_READER_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_READER_H_

#include <memory>

#include "lib/file/line_reader.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// Makes a reader of extended XYZ, which understands these keys:
// Lattice: nine numbers, the lattice vectors one after the other. pbc: as given; by default periodic if there is a
// Lattice. Properties: species (or Z), pos and forces; other columns are skipped. Without Properties, rows are symbol x
// y z, and further words are skipped. Energy, forces, stress (3x3 or xx yy zz yz xz xy) and virial have the names in
// `options` or extxyz_keys.h; stress and virial are used only if the cell has a volume. All other pairs go to
// Structure::info; a comment without "=" goes there under "comment".
std::unique_ptr<StructureReader> MakeExtxyzReader(LineReader lines, const StructureReaderOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_READER_H_
