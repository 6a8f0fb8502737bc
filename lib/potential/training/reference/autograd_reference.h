// A second reference for energies, forces and stress: LibTorch's autograd through everything, the descriptor included.
// It is written from the formulas of lib/descriptor/chebyshev.h alone and shares with PredictReference only the network
// and the scales.
//
// The descriptor consists of LibTorch operations on positions and on a strain of each structure, both of which require
// gradients; forces and stress are first derivatives of the energy, taken with create_graph. Memory grows with pairs
// and triplets times features, so this is for tests.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_AUTOGRAD_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_AUTOGRAD_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Predicts under the contract of PredictReference.
ReferencePrediction PredictByAutograd(const DescriptorOptions& options, const NetworkShape& shape,
                                      const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                      const at::Tensor& parameters, const NamedTensors& batch, bool forces);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_AUTOGRAD_REFERENCE_H_
