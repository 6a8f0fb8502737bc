// Random networks, atoms and losses for tests of NetworkKernel.

#ifndef RUTILE_LIB_NETWORK_NETWORK_KERNEL_TESTING_H_
#define RUTILE_LIB_NETWORK_NETWORK_KERNEL_TESTING_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_shape.h"

namespace rutile {

template <typename T>
struct KernelExample {
  NetworkShape shape;
  int num_structures;
  std::vector<T> parameters, x;
  std::vector<int64_t> species_offset;
  std::vector<int32_t> structure;
  std::vector<double> slopes;  // of a loss that is linear in the sums: d loss/d sums
  std::vector<T> tangents;     // of a loss that is linear in d energy / d x

  AtomRows<T> rows() const { return {x, species_offset, structure}; }
  int64_t num_atoms() const { return species_offset.back(); }
};

// parameters: [num_parameters] of a shape of any kind.
template <typename T>
KernelExample<T> MakeKernelExample(const NetworkShape& shape, const std::vector<int64_t>& atoms, int num_structures,
                                   const std::vector<double>& parameters) {
  KernelExample<T> e;
  e.shape = shape;
  e.num_structures = num_structures;
  for (const double p : parameters) e.parameters.push_back(static_cast<T>(p));
  RandomStream random(11, "example");
  e.species_offset = {0};
  for (const int64_t n : atoms) {
    for (int64_t i = 0; i < n; ++i) {
      e.structure.push_back(static_cast<int32_t>(random.Below(num_structures)));
      for (int f = 0; f < shape.num_features; ++f) e.x.push_back(static_cast<T>(random.Normal()));
    }
    e.species_offset.push_back(e.x.size() / shape.num_features);
  }
  for (int s = 0; s < num_structures; ++s) e.slopes.push_back(random.Normal());
  for (size_t i = 0; i < e.x.size(); ++i) e.tangents.push_back(static_cast<T>(random.Normal()));
  return e;
}

template <typename T>
KernelExample<T> MakeKernelExample(const NetworkShape& shape, const std::vector<int64_t>& atoms, int num_structures) {
  return MakeKernelExample<T>(shape, atoms, num_structures, InitialNetworkParameters(shape, 3));
}

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_KERNEL_TESTING_H_
