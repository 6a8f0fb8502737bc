// Random many-body potentials, atoms and losses for tests.

#ifndef RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_
#define RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/many_body/atom_kernel_factory.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/network_shape.h"

namespace rutile {

inline NetworkShape ManyBodyShape(int num_species, int channels, int num_radial, int max_l, std::vector<int> hidden,
                                  Activation activation = Activation::kSilu) {
  NetworkShape shape = {num_species, 1, std::move(hidden), activation, {channels, num_radial, max_l}};
  shape.num_features = shape.MomentFeatures();
  return shape;
}

template <typename T>
struct ManyBodyExample {
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

template <typename T>
ManyBodyExample<T> MakeManyBodyExample(const NetworkShape& shape, const std::vector<int64_t>& atoms,
                                       int num_structures) {
  ManyBodyExample<T> e;
  e.shape = shape;
  e.num_structures = num_structures;
  for (const double p : InitialAtomParameters(shape, 3)) e.parameters.push_back(static_cast<T>(p));
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

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_MANY_BODY_TESTING_H_
