// Reads aenet's setup files for fingerprints (<El>.fingerprint.stp), an alternative to the flags of the descriptor.
//
//   DESCR                                  free text up to END DESCR, ignored
//   END DESCR
//   ATOM Ti                                the central atom
//   ENV  2                                 how many species it sees, then one a line: their order fixes the typespins
//   Ti
//   O
//   RMIN 0.55d0                            Angstrom
//   BASIS type=Chebyshev                   then one line of parameters, Angstrom
//   radial_Rc = 6.5  radial_N = 20  angular_Rc = 5.0  angular_N = 6
//
// Keywords may have any order and case; ! # % start a comment; numbers are as Fortran writes them (0.55d0, 5.). Source:
// aenet's documentation and the files that it ships.

#ifndef RUTILE_LIB_DESCRIPTOR_FILES_STP_READER_H_
#define RUTILE_LIB_DESCRIPTOR_FILES_STP_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/chebyshev_options.h"

namespace rutile {

// The contents of one file: the descriptor for one central atom.
struct StpSetup {
  uint8_t atom = 0;
  ChebyshevOptions options;  // species in the order of ENV
};

// Parses the text of one file; `path` names it in messages ("Ti.stp:7: ..."). INVALID_ARGUMENT: text that the format
// does not allow, another basis than Chebyshev, parameters that ChebyshevOptions::Validate refuses, angular_Rc >
// radial_Rc (which aenet does not define; rutile's flags allow it), ATOM not among ENV.
absl::StatusOr<StpSetup> ParseStp(absl::string_view text, absl::string_view path);

// Reads one file for each species. INVALID_ARGUMENT as in ParseStp, and when two files disagree in a parameter or in
// the order of ENV (rutile, as aenet-python, has one descriptor for all atoms), when two are for the same atom, or when
// an atom of ENV has no file.
absl::StatusOr<ChebyshevOptions> ReadStpFiles(const std::vector<std::string>& paths);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FILES_STP_READER_H_
