// Writes potentials in aenet's format (aenet 2.0, *.nn.ascii, one file for each species), for molecular dynamics in the
// programs that include aenet. aenet's nnASCII2bin.x converts them to its binary form.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_FILE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// Returns the text of one species' file: its network, its descriptor with the statistics that standardize features, and
// the scale of energies. aenet's energy of an atom is the network's output / scale + shift + atomic energy, as in
// Potential; total energies in eV agree to rounding, whatever the units of the training data were.
//
// aenet computes a feature's deviation as sqrt(E[x^2] - E[x]^2). Where that would lose digits, and where a feature was
// constant in training, mean and deviation are moved into the weights, and the file says 0 and 1 for them.
//
// INVALID_ARGUMENT: an activation that aenet lacks (silu), an angular cutoff above the radial one, a repulsion.
// CHECK-fails on a species that does not exist.
absl::StatusOr<std::string> AenetText(const Potential& potential, int species);

// Writes directory/Ti.nn.ascii and so on, each file atomically, and no file if one species cannot be expressed. Creates
// the directory if it does not exist.
absl::Status WriteAenetPotentials(absl::string_view directory, const Potential& potential);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_FILE_H_
