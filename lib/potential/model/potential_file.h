// Reads and writes files of kind potential/1 to potential/3: a trained potential with everything that predicting
// needs.
//
// Example:
//
//   ASSIGN_OR_RETURN(const Potential potential, ReadPotential("potential.safetensors"));
//   AtomNetworks<double> networks(potential);
//   const double energy = networks.Energies(features, species, /*atom_energies=*/{});  // eV
//   networks.Slopes(absl::MakeSpan(slopes));                                           // dE/dG, from which forces
//   follow

#ifndef RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/model/pair_repulsion.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct MaceModel;  // lib/mace/mace_model.h

// A potential. Its energy in eV is the sum over atoms of network((G - mean) * scale) / energy_scaling.scale +
// energy_scaling.shift + atomic energy, and the repulsion of pairs. In a many-body potential (shape.has_moments()) the
// features G are moments of the atom's neighborhood, and the network is that of lib/many_body.
struct Potential {
  DescriptorOptions descriptor;
  NetworkShape shape;
  FeatureScaling feature_scaling;
  FeatureRange feature_range;  // of the training atoms; empty if the file has none
  EnergyScaling energy_scaling;
  std::vector<double> atomic_energies;  // [species] eV
  RepulsionRadii repulsion;             // of pairs, which is added; empty for none
  Tensor parameters;                    // flat [shape.num_parameters()], F32 or F64, in the order of NetworkShape
  Metadata metadata;                    // from the file: provenance, epoch, validation loss
  // The model, if it is one of mace-torch (mace_potential.h), else null. With a model the descriptor says which species
  // and neighbors it has, atomic_energies are its own, shape has its channels and messages, and all else is empty.
  std::shared_ptr<const MaceModel> mace;
};

// Returns the tensors of a file of kind potential/1, which programs that know no repulsion read, too. A potential with
// a repulsion has the same tensors and two more, and is of kind potential/2, so that such programs refuse it. One with
// vector messages is of kind potential/3, whether it has a repulsion or not.
const Schema& PotentialSchema();

// Sets what the descriptor decides about the shape: species and features, and with moments how many there are.
// channels: those of a many-body potential; ignored for a Chebyshev descriptor, as the other two are.
void SetInputs(const DescriptorOptions& descriptor, int channels, int messages, int vector_messages,
               NetworkShape* shape);

// Return tensor names such as "network.Ti.0.weight" and "network.Ti.0.bias".
std::string WeightName(const DescriptorOptions& descriptor, int species, int layer);
std::string BiasName(const DescriptorOptions& descriptor, int species, int layer);
// Returns the names of all weights and biases, with their places in the flat parameters: species by species, layer by
// layer, weights before biases.
std::vector<ParameterSlice> NetworkSlices(const DescriptorOptions& descriptor, const NetworkShape& shape);

// Writes the file atomically; potential.metadata is added to the keys that the kind itself has. CHECK-fails when sizes
// disagree.
absl::Status WritePotential(absl::string_view path, const Potential& potential);

// Reads the file. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule, or the program whose file it is
// (RefuseOtherPrograms). OpenPotentials reads networks of aenet and MACE models as well.
absl::StatusOr<Potential> ReadPotential(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_FILE_H_
