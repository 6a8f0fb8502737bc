// XSF (XCrySDen), with energies and forces as aenet writes them.

#ifndef RUTILE_LIB_STRUCTURE_XSF_READER_H_
#define RUTILE_LIB_STRUCTURE_XSF_READER_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "lib/base/line_reader.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// CRYSTAL (periodic in three directions), SLAB (two), POLYMER (one) or MOLECULE with PRIMVEC and PRIMCOORD, or ATOMS;
// DIM-GROUP says the same in numbers, and PRIMVEC alone means CRYSTAL. ANIMSTEPS: several frames, the cell once or for
// each. CONVVEC, CONVCOORD and BEGIN_... blocks are skipped. Rows are "symbol x y z", optionally with "fx fy fz" in
// eV/Angstrom; atomic numbers serve as symbols.
//
// "# total energy = E eV", or "# cohesive energy = E eV" where there is no total energy, is Structure::energy; the
// latter sets info["energy_kind"] to "cohesive" (it is relative to the atoms: reference energies of 0 fit it).
// "# key = value" goes to info. In a file of one frame they may stand anywhere, else they stand before their frame.
std::unique_ptr<StructureReader> MakeXsfReader(LineReader lines);

// Whether a line that starts with this word starts an XSF file.
bool IsXsfKeyword(absl::string_view word);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_XSF_READER_H_
