// Random many-body potentials, atoms and losses for tests.

#ifndef RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_
#define RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/many_body/atom_kernel_factory.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"

namespace rutile {

inline NetworkShape ManyBodyShape(int num_species, int channels, int num_radial, int max_l, std::vector<int> hidden,
                                  Activation activation = Activation::kSilu) {
  NetworkShape shape = {num_species, 1, std::move(hidden), activation, {channels, num_radial, max_l}};
  shape.num_features = shape.MomentFeatures();
  return shape;
}

template <typename T>
using ManyBodyExample = KernelExample<T>;

template <typename T>
ManyBodyExample<T> MakeManyBodyExample(const NetworkShape& shape, const std::vector<int64_t>& atoms,
                                       int num_structures) {
  return MakeKernelExample<T>(shape, atoms, num_structures, InitialAtomParameters(shape, 3));
}

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_
