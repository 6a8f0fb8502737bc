// What a file of aenet holds: the network of one species with its descriptor and the scale of energies. aenet_file.h
// reads and writes the bytes.
//
// aenet's energy of an atom is the network's output / scale + shift + atomic energy, as in Potential; the standardized
// feature is (G - mean) / sqrt(square - mean^2), and 0 where that root is at most 1e-10. All is in eV and Angstrom.
// Sources: aenet 2.0.4, src/potential.f90, src/sfsetup.f90, src/trainset.f90 and src/ext/feedforward.f90.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_NETWORK_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_NETWORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// The members are in the order of the file, less the numbers that follow from others.
struct AenetNetwork {
  // The network. L layers of weights lie between L + 1 layers of nodes.
  std::vector<int64_t> nodes;      // [L + 1]; nodes[0] = F features, the last is 1
  std::vector<int64_t> functions;  // [L]: 0 linear, 1 tanh, 2 sigmoid, 3 mtanh, 4 twist
  std::vector<double> weights;     // layer by layer [in + 1, out], the row of biases last

  // The setup: the descriptor and the statistics of its features in training.
  std::string description;
  uint8_t atom = 0;                  // atomic number
  std::vector<uint8_t> environment;  // atomic numbers; the order fixes the typespins
  double min_distance = 0;           // Angstrom, RMIN of the fingerprint
  double max_cutoff = 0;             // Angstrom
  std::string basis;                 // "Chebyshev"
  std::vector<double> parameters;    // of the Chebyshev basis: radial cutoff, radial order, angular cutoff, its order
  int64_t evaluations = 0;           // atoms behind the statistics
  std::vector<double> min, max, mean, square;  // [F]

  // The training set.
  std::string training_set;
  bool normalized = true;
  double scale = 1, shift = 0;          // 1/eV, eV
  std::vector<uint8_t> types;           // atomic numbers
  std::vector<double> atomic_energies;  // [types] eV
  int64_t num_atoms = 0, num_structures = 0;
  double energy_min = 0, energy_max = 0, energy_mean = 0;  // eV per atom
};

// Returns the network of one species (an index, CHECKed) of the potential.
//
// Where sqrt(square - mean^2) would lose digits, and where a feature was constant in training, mean and deviation are
// moved into the weights, and the file says 0 and 1 for them. A potential without a feature range has min = max.
//
// INVALID_ARGUMENT: what aenet does not have, which is many-body potentials, the activation silu, several angular
// cutoffs, and an angular cutoff above the radial one.
absl::StatusOr<AenetNetwork> ToAenet(const Potential& potential, int species);

// Returns the potential that the networks of all its species make, with parameters in fp64. names: what messages call
// the networks, such as "Ti.nn". The feature range is that of the files, or empty if one of them has none (min < max
// for no feature). As in aenet, the least min_distance counts; neighbors at or below it are ignored.
//
// INVALID_ARGUMENT naming a file: a species without a network or with two; another basis than Chebyshev; networks that
// differ in the descriptor, the order of the environment, hidden layers, activations, or the scale of energies, which
// one model of rutile has once; several activations; an output that is not linear; a feature with square < mean^2, from
// which aenet makes NaN; whatever ChebyshevOptions or NetworkShape refuses.
absl::StatusOr<Potential> FromAenet(absl::Span<const AenetNetwork> networks, absl::Span<const std::string> names);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_NETWORK_H_
