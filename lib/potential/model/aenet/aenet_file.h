// Reads and writes aenet's files of potentials (aenet 2.0, one file for each species) in both forms: binary (Ti.nn), as
// its programs read them, and text (Ti.nn.ascii), which its nnASCII2bin.x makes binary.
//
// A binary file is a sequence of Fortran records, as gfortran writes them without form: the length in bytes (32 bits,
// little-endian), the numbers (32 bits) or floating-point numbers (64 bits) or characters, and the length again. Text
// has the same values in the same order; a list may be broken into lines anywhere.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_FILE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/model/aenet/aenet_network.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// Return the contents of a file. Text has 17 digits after the point, so that every number is read back exactly, except
// that those below 1e-99 become 0.
std::string AenetBinary(const AenetNetwork& network);
std::string AenetText(const AenetNetwork& network);

// True if the bytes begin as a network of aenet does, in either form; those of a training set (.train) do not.
bool LooksLikeAenetNetwork(absl::string_view bytes);

// Parses the contents of a file of either form, which is told by its first bytes; `path` is for messages.
// INVALID_ARGUMENT naming the path, the line or the record, what was found and what was expected.
absl::StatusOr<AenetNetwork> ParseAenet(absl::string_view bytes, absl::string_view path);

// Writes directory/Ti.nn, directory/Ti.nn.ascii and so on, each file atomically, and no file if one species cannot be
// expressed. Creates the directory if it does not exist. Returns the paths of the binary files, in the order of
// species. Returns the errors of ToAenet.
absl::StatusOr<std::vector<std::string>> WriteAenetPotentials(absl::string_view directory, const Potential& potential);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_FILE_H_
