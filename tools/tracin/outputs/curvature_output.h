// The file of --mode=curvature, and what its uncertainties are calibrated on.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_CURVATURE_OUTPUT_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_CURVATURE_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/make_curvature.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Structures that did not train, and where they are from, for messages.
struct HeldOut {
  std::vector<int64_t> structures;
  std::string source;
};

// Returns the validation structures of the run, if `train` holds them, and otherwise none, with a message that says so.
// INVALID_ARGUMENT if the list cannot be read. run_directory: "" if none is known.
absl::StatusOr<HeldOut> ValidationStructures(const AtomicData& train, const std::string& run_directory);

// Returns the structures of --test, but for isolated atoms beside larger ones, unless the model, whose metadata are
// given, learned such atoms; a message counts them.
absl::StatusOr<HeldOut> TestStructures(const AtomicData& test, const Metadata& model);

// Prints what was made and how the uncertainties are calibrated, and writes the file. metadata: provenance, and what
// decided the matrix.
absl::Status SaveCurvature(const std::string& path, const std::string& source, Metadata metadata, MadeCurvature made);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_CURVATURE_OUTPUT_H_
