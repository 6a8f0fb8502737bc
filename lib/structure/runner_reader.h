// Reads input.data of RuNNer and n2p2.

#ifndef RUTILE_LIB_STRUCTURE_RUNNER_READER_H_
#define RUTILE_LIB_STRUCTURE_RUNNER_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/file/line_reader.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// Units of RuNNer's files, from CODATA 2018.
inline constexpr double kBohrInAngstrom = 0.529177210903;
inline constexpr double kHartreeInEv = 27.211386245988;

// Makes a reader of structures between "begin" and "end": "lattice x y z" three times or not at all (then isolated),
// "atom x y z symbol charge energy fx fy fz", "energy E", and "charge Q" and "comment text", which go to
// Structure::info. Charges and energies of single atoms are skipped. INVALID_ARGUMENT if the units are not given.
absl::StatusOr<std::unique_ptr<StructureReader>> MakeRunnerReader(LineReader lines, RunnerUnits units);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_RUNNER_READER_H_
