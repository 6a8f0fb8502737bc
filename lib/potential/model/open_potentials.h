// Opens potentials for use: model files of train, MACE models of mace-torch that rutile.import_mace wrote, and networks
// of aenet, of which those of all species make one model.
// Files of other programs are refused by name.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_OPEN_POTENTIALS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_OPEN_POTENTIALS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

struct OpenedPotentials {
  std::vector<Potential> potentials;
  std::vector<std::string> names;  // of each potential: its path, or those of its species separated by commas
};

// Each path is a file of kind potential/1 to 3 or mace/1, which is a potential, or a network of aenet (aenet_file.h,
// told by its bytes). Networks of aenet that follow each other make a potential as soon as each species of the first
// has one; then the next potential begins. NOT_FOUND, or INVALID_ARGUMENT: the errors of ReadPotential, DecodeMace,
// ParseAenet and FromAenet, and a species that is missing, or there twice.
absl::StatusOr<OpenedPotentials> OpenPotentials(absl::Span<const std::string> paths);

// INVALID_ARGUMENT if the file is, by its content or its name, a file of another program that its users take for a
// model (aenet's training sets, n2p2's weights, MACE's .model, ...), or a network of aenet, saying what to do. Files in
// safetensors, pipes and files that do not exist are left to their readers.
absl::Status RefuseOtherPrograms(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_OPEN_POTENTIALS_H_
