// MACE models for tests.

#ifndef RUTILE_LIB_MACE_MACE_TESTING_H_
#define RUTILE_LIB_MACE_MACE_TESTING_H_

#include <cstdint>
#include <vector>

#include "lib/mace/mace_model.h"

namespace rutile {

struct MaceTestShape {
  std::vector<uint8_t> species = {8, 1};
  double cutoff = 3;
  int num_radial = 4, max_l = 2, channels = 4, num_layers = 2;
  bool residual_first = false;  // the first layer has a skip, and one mix for all species
};

// Returns a model with random weights of such a size that energies are of the order of 1 eV.
MaceModel RandomMace(const MaceTestShape& shape, uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_MACE_TESTING_H_
