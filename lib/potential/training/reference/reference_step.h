// Computes one step of training on energies and forces by the references, for tests. The header is free of LibTorch.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_REFERENCE_STEP_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_REFERENCE_STEP_H_

#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct ReferenceModel {
  DescriptorOptions descriptor;
  NetworkShape shape;
  FeatureScaling feature_scaling;
  EnergyScaling energy_scaling;
};

enum class ReferenceMethod {
  kDerivatives,  // PredictReference
  kAutograd,     // PredictByAutograd
};

// The result of a step. Mean squares are taken over the structures and over the components of the sampled forces.
struct ReferenceStep {
  double energy_rmse = 0;        // eV per atom
  double force_rmse = 0;         // eV/Angstrom, per component; 0 when no force is sampled
  double loss = 0;               // (1 - force_weight) energy_rmse + force_weight force_rmse
  std::vector<double> gradient;  // [num_parameters] d loss / d parameters
  double gradient_norm = 0;
};

// batch: as described in lib/potential/training/reference/force_reference.h; all structures weigh the same. parameters:
// [num_parameters]. The gradient is not finite where an RMSE is exactly 0.
ReferenceStep ComputeReferenceStep(const ReferenceModel& model, absl::Span<const double> parameters,
                                   const NamedTensors& batch, double force_weight,
                                   ReferenceMethod method = ReferenceMethod::kDerivatives);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_REFERENCE_STEP_H_
