// The frame of a potential (lib/task/framed_model.h): descriptor, layers and scales, everything but the parameters.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_MODEL_FRAME_H_
#define RUTILE_LIB_POTENTIAL_MODEL_MODEL_FRAME_H_

#include "absl/status/statusor.h"
#include "lib/potential/model/potential_file.h"
#include "lib/task/framed_model.h"

namespace rutile {

// Its tensors have the names that they have in the model file.
ModelFrame FrameOf(const Potential& potential);

// Returns the potential of a frame: without parameters, metadata and range of features. INVALID_ARGUMENT naming what is
// missing or has another size.
absl::StatusOr<Potential> PotentialOfFrame(const ModelFrame& frame);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_MODEL_FRAME_H_
