// Defines energies, forces and stresses of potentials with two layers: LibTorch's autograd through everything, with
// radial functions and harmonics of lib/descriptor/moment_basis.h and moment_harmonics.h written in its operations.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_MESSAGE_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_MESSAGE_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/descriptor/moment_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Predicts under the contract of PredictReference, with a graph. shape: with messages. All structures need their
// geometry.
ReferencePrediction PredictWithMessages(const MomentOptions& options, const NetworkShape& shape,
                                        const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                        const at::Tensor& parameters, const NamedTensors& batch, bool forces,
                                        const EagerOptions& eager);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_MESSAGE_REFERENCE_H_
