// Files of kind potential/1: a trained potential, whole. Predicting needs nothing else.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/scaling.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// E = sum over atoms of [network((G - mean) * scale) / energy_scaling.scale + energy_scaling.shift + atomic energy],
// eV.
struct Potential {
  ChebyshevOptions descriptor;
  NetworkShape shape;
  FeatureScaling feature_scaling;
  FeatureRange feature_range;  // of the training atoms; empty when the file does not say
  EnergyScaling energy_scaling;
  std::vector<double> atomic_energies;  // [species] eV
  Tensor parameters;                    // flat [shape.num_parameters()], F32 or F64, in the order of NetworkShape
  Metadata metadata;                    // of the file: provenance, epoch, validation loss
};

const Schema& PotentialSchema();

// "network.Ti.0.weight" and "network.Ti.0.bias".
std::string WeightName(const ChebyshevOptions& descriptor, int species, int layer);
std::string BiasName(const ChebyshevOptions& descriptor, int species, int layer);
// All of them, with their places in the flat parameters: species by species, layer by layer, weights before biases.
std::vector<ParameterSlice> NetworkSlices(const ChebyshevOptions& descriptor, const NetworkShape& shape);

// Atomic; potential.metadata joins the file's own keys. CHECK-fails when sizes disagree.
absl::Status WritePotential(absl::string_view path, const Potential& potential);

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule.
absl::StatusOr<Potential> ReadPotential(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_
