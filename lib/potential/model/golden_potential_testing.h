// Reads the golden values of testdata/potential (its README says how they were made), for tests of descriptors and
// potentials.
//
// A test must list //testdata:potential in `data`. Reading CHECK-fails on content that it does not understand.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_GOLDEN_POTENTIAL_TESTING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_GOLDEN_POTENTIAL_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/structure/structure.h"

namespace rutile {

// The networks of one potential: one for each species of the descriptor, tanh on hidden layers, linear output.
struct GoldenNetworks {
  std::vector<int> hidden;         // sizes of the hidden layers, the same for each species
  std::vector<double> parameters;  // for each species, for each layer, W [out, in] row-major, then b [out]
};

// One structure with its descriptor, and the energy and forces of a fixed potential. N atoms, F features.
struct GoldenCase {
  std::string name;
  Structure structure;  // without energy and forces; positions are not always inside the cell
  ChebyshevOptions descriptor;
  std::vector<uint8_t> species;  // [N] indices into descriptor.species
  int64_t num_pairs = 0;         // neighbors of all atoms, min_cutoff < d <= rad_cutoff
  std::vector<double> features;  // [N, F], accurate to 1e-11 max(1, |G|)
  std::vector<double> jacobian;  // [N, F, 3N] dG/dR, accurate to 1e-9 of the largest; empty if the file has none

  // Networks take (feature - mean) / deviation; energy = sum(atomic_output) / energy_scaling + energy_shift * N.
  GoldenNetworks networks;
  std::vector<double> feature_mean, feature_deviation;  // [F]
  double energy_scaling = 1, energy_shift = 0;
  std::vector<double> atomic_output;  // [N]
  double energy = 0;                  // accurate to 1e-10
  std::vector<double> force;          // [3N], accurate to 1e-10
};

// Returns the names of the nine cases, in the order of testdata/potential/index.json.
std::vector<std::string> GoldenCaseNames();
GoldenCase ReadGoldenCase(absl::string_view name);

// A short training run with Adam, from testdata/potential/training_trace.json. S species.
struct GoldenTraining {
  struct Step {
    int epoch = 0;
    std::vector<int64_t> batch;  // indices into structures
    double energy_rmse = 0;      // per atom, in the units of the data (eV)
    double force_rmse = 0;       // per component
    double loss = 0;             // (1 - force_weight) energy_rmse + force_weight force_rmse
    double gradient_norm = 0;    // over all parameters, before the step
  };
  struct Run {
    double force_weight = 0;
    std::vector<Step> steps;
    GoldenNetworks final_networks;
  };

  std::vector<Structure> structures;  // with energy and forces
  ChebyshevOptions descriptor;
  std::vector<double> atomic_energies;  // [S] eV, in the order of descriptor.species
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  std::vector<double> feature_mean, feature_deviation;  // [F]
  double energy_scaling = 1, energy_shift = 0;          // for energies per atom less atomic energies
  GoldenNetworks initial_networks;
  std::vector<Run> runs;  // with force weight 0, then 0.1
};

GoldenTraining ReadGoldenTraining();

// Returns the indices of the atoms' elements in `species`. CHECK-fails when an element is missing.
std::vector<uint8_t> SpeciesIndices(const Structure& structure, const std::vector<uint8_t>& species);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_GOLDEN_POTENTIAL_TESTING_H_
