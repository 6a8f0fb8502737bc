// Reads XSF (XCrySDen), with energies and forces as aenet writes them.

#ifndef RUTILE_LIB_STRUCTURE_XSF_READER_H_
#define RUTILE_LIB_STRUCTURE_XSF_READER_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "lib/file/line_reader.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// Makes a reader of XSF.
//
// CRYSTAL (periodic in three directions), SLAB (two), POLYMER (one) or MOLECULE are followed by PRIMVEC and PRIMCOORD,
// or there is ATOMS alone; DIM-GROUP gives the periodicity in numbers, and PRIMVEC alone means CRYSTAL. ANIMSTEPS
// announces several frames, with one cell for all or one for each. CONVVEC, CONVCOORD and BEGIN_... blocks are skipped.
// Rows are "symbol x y z", optionally with "fx fy fz"; atomic numbers serve as symbols. options.xsf_forces says in
// which unit forces are; they become eV/Angstrom.
//
// Structure::energy is "# total energy = E eV", or "# cohesive energy = E eV" if there is no total energy; the latter
// sets info["energy_kind"] to "cohesive" (it is relative to the atoms: reference energies of 0 fit it). "# key = value"
// goes to info. In a file of one frame such comments may stand anywhere, otherwise they stand before their frame.
std::unique_ptr<StructureReader> MakeXsfReader(LineReader lines, const StructureReaderOptions& options);

// True if a line that starts with this word starts an XSF file.
bool IsXsfKeyword(absl::string_view word);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_XSF_READER_H_
