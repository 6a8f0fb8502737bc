#include "lib/potential/training/force_batch_testing.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "lib/base/logging.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/golden_potential_testing.h"

namespace rutile {
namespace {

template <typename To, typename From>
void Append(const From& from, std::vector<To>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

Tensor BoolTensor(const std::vector<bool>& values) {
  Tensor tensor = Tensor::Zeros(DType::kBool, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_values<bool>().begin());
  return tensor;
}

}  // namespace

NamedTensors MakeForceBatch(absl::Span<const Structure> structures, const ChebyshevOptions& descriptor,
                            const ForceBatchOptions& options) {
  const auto num_structures = static_cast<int64_t>(structures.size());
  const ChebyshevReference features(descriptor);
  const double cutoff = descriptor.cutoff();
  std::vector<uint8_t> species;
  std::vector<int64_t> atom_offset = {0}, pair_offset = {0};
  std::vector<int32_t> pair_j;
  std::vector<int16_t> pair_shift;
  std::vector<double> target, position, cell, force, stress, feature;
  std::vector<bool> force_sampled, has_stress, has_geometry;
  for (int64_t b = 0; b < num_structures; ++b) {
    const Structure& structure = structures[b];
    const int64_t atoms = structure.size(), first = atom_offset.back();
    const std::vector<uint8_t> own_species = SpeciesIndices(structure, descriptor.species);
    double energy = structure.energy.value_or(0);
    for (const uint8_t s : own_species) {
      if (!options.atomic_energies.empty()) energy -= options.atomic_energies[s];
    }
    const bool with_geometry = options.has_geometry.empty() || options.has_geometry[b];
    NeighborList list;
    const absl::Status status = BruteForceNeighborList(structure, cutoff + options.skin, &list);
    CHECK(status.ok()) << structure.name << ": " << status;
    std::vector<double> rows(atoms * descriptor.num_features(), 0.0);
    if (with_geometry) {
      for (const int32_t j : list.j) pair_j.push_back(static_cast<int32_t>(first + j));
      Append(list.shift, &pair_shift);
      for (int64_t i = 0; i < atoms; ++i) {
        pair_offset.push_back(pair_offset.back() + list.offset[i + 1] - list.offset[i]);
      }
    } else {
      features.Compute(own_species, list, features.MakeWorkspace().get(), absl::MakeSpan(rows));
      pair_offset.resize(pair_offset.size() + atoms, pair_offset.back());
    }
    Append(rows, &feature);
    Append(own_species, &species);
    Append(structure.position, &position);
    Append(structure.cell, &cell);
    if (structure.force.empty()) {
      force.resize(force.size() + 3 * atoms, 0.0);
    } else {
      Append(structure.force, &force);
    }
    force_sampled.resize(force_sampled.size() + atoms, with_geometry && !structure.force.empty());
    Append(structure.stress.value_or(Matrix3{}), &stress);
    has_stress.push_back(structure.stress.has_value());
    has_geometry.push_back(with_geometry);
    target.push_back(energy / static_cast<double>(atoms));
    atom_offset.push_back(first + atoms);
  }

  const int64_t num_atoms = atom_offset.back();
  NamedTensors batch;
  batch.Set("species", Tensor::Of(species));
  batch.Set("atom_offset", Tensor::Of(atom_offset));
  batch.Set("target", Tensor::Of(target));
  batch.Set("weight", Tensor::Of(std::vector<double>(num_structures, 1.0)));
  batch.Set("position", Tensor::Of<double>(position, {num_atoms, 3}));
  batch.Set("cell", Tensor::Of<double>(cell, {num_structures, 3, 3}));
  batch.Set("pair_offset", Tensor::Of(pair_offset));
  batch.Set("pair_j", Tensor::Of(pair_j));
  batch.Set("pair_shift", Tensor::Of<int16_t>(pair_shift, {pair_offset.back(), 3}));
  batch.Set("force", Tensor::Of<double>(force, {num_atoms, 3}));
  batch.Set("force_sampled", BoolTensor(force_sampled));
  batch.Set("stress", Tensor::Of<double>(stress, {num_structures, 3, 3}));
  batch.Set("has_stress", BoolTensor(has_stress));
  batch.Set("has_geometry", BoolTensor(has_geometry));
  if (std::find(has_geometry.begin(), has_geometry.end(), false) != has_geometry.end()) {
    batch.Set("feature", Tensor::Of<double>(feature, {num_atoms, descriptor.num_features()}));
  }
  return batch;
}

}  // namespace rutile
