// MACE models of mace-torch among the potentials: opened for use, and refused where a potential must be rutile's own.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_MACE_POTENTIAL_H_
#define RUTILE_LIB_POTENTIAL_MODEL_MACE_POTENTIAL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/mace/mace_model.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

Potential PotentialOfMace(std::shared_ptr<const MaceModel> model);
// Returns the potential of a file of kind mace/1, or the errors of DecodeMace.
absl::StatusOr<Potential> MacePotential(const TensorFile& file);

// INVALID_ARGUMENT if the potential is a MACE model. what: what is asked of it, as "--init_from".
absl::Status RefuseMace(const Potential& potential, absl::string_view path, absl::string_view what);

// The error for programs that need a model of train.
absl::Status MaceInPlaceOfOurs(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_MACE_POTENTIAL_H_
