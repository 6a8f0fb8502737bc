#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/potential/gpu/bodies/descriptor_bodies-inl.h"
#include "lib/potential/gpu/descriptor_host_tables.h"
#include "lib/potential/gpu/descriptor_tables.h"
#include "lib/potential/gpu/pair_slots_builder.h"

namespace rutile {
namespace {

// Structures of one batch, which share options.
struct BatchCase {
  std::string name;
  ChebyshevOptions options;
  std::vector<Structure> structures;
};

std::vector<uint8_t> SpeciesOf(const Structure& structure, const ChebyshevOptions& options) {
  std::vector<uint8_t> species;
  for (int i = 0; i < structure.size(); ++i) species.push_back((i * i + i / 3) % options.species.size());
  return species;
}

ChebyshevOptions Options(int num_species, int rad_order, double rad_cutoff, int ang_order, double ang_cutoff,
                         std::vector<AngularSet> nearer = {}) {
  ChebyshevOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.rad_order = rad_order;
  options.rad_cutoff = rad_cutoff;
  options.ang_order = ang_order;
  options.ang_cutoff = ang_cutoff;
  options.nearer = std::move(nearer);
  return options;
}

// Atoms on a line along z, where harmonics of m > 0 are 0.
Structure Line() {
  Structure line;
  for (int i = 0; i < 5; ++i) {
    line.element.push_back(1);
    line.position.insert(line.position.end(), {0, 0, 1.1 * i});
  }
  return line;
}

std::vector<BatchCase> BatchCases() {
  std::vector<BatchCase> cases;
  // Groups of 32 atoms begin and end within structures, and atoms without neighbors lie between others.
  const std::vector<Structure> mixed = {RandomStructure(13, 5, 1), RandomStructure(3, 30, 2), RandomStructure(20, 0, 3),
                                        RandomStructure(1, 2.1, 4), RandomStructure(7, 4, 5)};
  for (int num_species = 1; num_species <= 3; ++num_species) {
    cases.push_back({"one set", Options(num_species, 10, 4.5, 3, 3.5), mixed});
    cases.push_back({"two sets", Options(num_species, 7, 4.5, 2, 4, {{4, 2.5}}), mixed});
    cases.push_back({"three sets", Options(num_species, 12, 4.5, 3, 4, {{1, 3}, {6, 2.2}}), mixed});
  }
  const std::vector<Structure> small = {RandomStructure(9, 4.2, 20), RandomStructure(2, 0, 21)};
  for (int order = 0; order <= 12; ++order) {
    const int rad_order = order == 12 ? 32 : 2 * order;
    cases.push_back({"order " + std::to_string(order), Options(2, rad_order, 4.5, order, 3.5), small});
    cases.push_back({"one species, order " + std::to_string(order), Options(1, order, 4.5, order, 3.5), small});
  }
  cases.push_back({"order 20", Options(2, 5, 4, 20, 3.2), small});
  cases.push_back({"the highest order", Options(1, 5, 4, 32, 3.2), {RandomStructure(4, 0, 22)}});
  cases.push_back({"four sets", Options(2, 5, 4, 2, 3.5, {{3, 3}, {9, 2.5}, {0, 2}}), small});
  cases.push_back({"equal cutoffs", Options(2, 1, 4, 5, 4), mixed});
  cases.push_back({"angular cutoff above radial", Options(2, 6, 3, 4, 4.2), mixed});
  cases.push_back({"no radial neighbors", Options(3, 3, 0.7, 3, 3.5), mixed});
  cases.push_back({"no neighbors", Options(2, 5, 1.0, 3, 0.9), small});
  cases.push_back({"thin cells", Options(2, 8, 5, 4, 4), {RandomStructure(1, 2.6, 6), RandomStructure(3, 2.6, 7)}});
  cases.push_back({"along z", Options(2, 7, 4, 6, 3.5), {Line()}});
  // Of neighbors at 1.1 and 2.2 Angstrom, some lie exactly on cutoffs.
  cases.push_back({"neighbors on cutoffs", Options(2, 5, 2.2, 4, 2.2, {{2, 1.1}}), {Line(), mixed[0]}});
  return cases;
}

StructurePairs PairsOf(const StructureGeometry& geometry) {
  StructurePairs pairs;
  pairs.num_atoms = geometry.species.size();
  pairs.position = geometry.position.data();
  pairs.cell = geometry.cell.data();
  pairs.species = geometry.species.data();
  pairs.offset = geometry.pairs.offset.data();
  pairs.j = geometry.pairs.j;
  pairs.shift = geometry.pairs.shift;
  pairs.first_atom = geometry.pairs.first_atom;
  return pairs;
}

// What goes in, for all structures one after the other.
struct Inputs {
  std::vector<std::unique_ptr<SampleGeometry>> samples;
  std::vector<int64_t> first_atom;  // [S + 1]
  std::vector<double> slopes, direction, strain;

  explicit Inputs(const BatchCase& batch) : first_atom{0} {
    for (const Structure& structure : batch.structures) {
      samples.push_back(std::make_unique<SampleGeometry>(structure, SpeciesOf(structure, batch.options),
                                                         batch.options.cutoff() + 0.3));
      first_atom.push_back(first_atom.back() + structure.size());
    }
    slopes = RandomVector(first_atom.back() * batch.options.num_features(), 1);
    direction = RandomVector(3 * first_atom.back(), 2);
    strain = RandomVector(9 * samples.size(), 3);
  }
};

// Results for all structures; strain gradients are [9S].
template <typename T>
using Results = Products<T>;

template <typename E>
void Append(const std::vector<E>& from, std::vector<E>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

std::vector<double> Part(const std::vector<double>& all, int64_t begin, int64_t end) {
  return std::vector<double>(all.begin() + begin, all.begin() + end);
}

// Computes everything by definition.
Results<double> Expected(const BatchCase& batch, const Inputs& in, bool moving, bool strained) {
  const auto reference = MakeReferenceDerivatives<double>(batch.options);
  const int64_t features = reference->num_features();
  Results<double> all;
  for (size_t s = 0; s < in.samples.size(); ++s) {
    const int64_t begin = in.first_atom[s], end = in.first_atom[s + 1];
    const std::vector<double> direction =
        moving ? Part(in.direction, 3 * begin, 3 * end) : std::vector<double>(3 * (end - begin));
    const std::vector<double> strain = strained ? Part(in.strain, 9 * s, 9 * s + 9) : std::vector<double>(9);
    const auto one = ComputeProducts(*reference, in.samples[s]->Get(),
                                     Part(in.slopes, begin * features, end * features), direction, strain);
    Append(one.features, &all.features);
    Append(one.force, &all.force);
    Append(one.tangents, &all.tangents);
    Append(one.strain_gradient, &all.strain_gradient);
  }
  return all;
}

// The kernels on HostBackend, with all that they need.
template <typename T>
class Kernels {
 public:
  Kernels(const BatchCase& batch, const Inputs& in)
      : host_(MakeHostDescriptorTables(batch.options)), tables_(host_, &backend_), pairs_(&backend_) {
    HostPairSlots<T> slots;
    for (const auto& sample : in.samples) slots.Add(host_, PairsOf(sample->Get()));
    pairs_.Upload(slots);
    for (size_t s = 0; s < in.samples.size(); ++s) structure_of_.resize(in.first_atom[s + 1], s);
  }

  const DescriptorTables<T>& tables() const { return tables_.view(); }

  // Computes everything for the given atoms, and leaves NaN elsewhere. Slopes are computed for all atoms.
  Results<T> Compute(const Inputs& in, const std::vector<int32_t>& atoms, bool moving, bool strained) {
    const PairSlots<T> pairs = pairs_.view();
    const int64_t num_atoms = pairs.num_atoms, num_slots = pairs_.num_slots(), num_features = tables().num_features;
    const auto array = [&](int64_t size) {
      Array made(&backend_);
      made.Resize(size);
      return made;
    };
    const auto upload = [&](const std::vector<double>& values) {
      Array made(&backend_);
      made.Upload(std::vector<T>(values.begin(), values.end()));
      return made;
    };
    Array features = array(num_atoms * num_features), moments = array(tables().num_moments * num_atoms);
    ComputeFeatures(&backend_, tables(), pairs, features.data(), moments.data());

    std::vector<int32_t> everyone(num_atoms);
    std::iota(everyone.begin(), everyone.end(), 0);
    const Array q = upload(in.slopes);
    Array x = array(num_slots), y = array(num_slots), z = array(num_slots);
    ComputePairSlopes(&backend_, tables(), pairs, everyone.data(), num_atoms, q.data(), moments.data(), x.data(),
                      y.data(), z.data());
    const int64_t n = atoms.size();
    Array force = array(3 * num_atoms), strain_gradient = array(9 * n), tangents = array(num_atoms * num_features);
    ComputeForces<T>(&backend_, pairs, atoms.data(), n, x.data(), y.data(), z.data(), force.data());
    ComputeStrainGradients<T>(&backend_, pairs, atoms.data(), n, x.data(), y.data(), z.data(), strain_gradient.data());

    const Array direction = upload(in.direction), strain = upload(in.strain);
    std::vector<int32_t> structure_of;
    for (const int32_t a : atoms) structure_of.push_back(structure_of_[a]);
    const Motion<T> motion = {moving ? direction.data() : nullptr, strained ? strain.data() : nullptr,
                              structure_of.data()};
    ComputeTangents(&backend_, tables(), pairs, atoms.data(), n, moments.data(), motion, tangents.data());

    Results<T> out;
    std::vector<T> by_atom;
    features.Download(&out.features);
    force.Download(&out.force);
    tangents.Download(&out.tangents);
    strain_gradient.Download(&by_atom);
    out.strain_gradient.assign(in.strain.size(), 0);
    for (int64_t k = 0; k < 9 * n; ++k) out.strain_gradient[9 * structure_of[k / 9] + k % 9] += by_atom[k];
    return out;
  }

 private:
  using Array = DeviceArray<T, HostBackend>;

  HostBackend backend_;
  const HostDescriptorTables host_;
  DescriptorTablesOnDevice<T, HostBackend> tables_;
  PairSlotsOnDevice<T, HostBackend> pairs_;
  std::vector<int32_t> structure_of_;
};

std::vector<int32_t> AllAtoms(const Inputs& in) {
  std::vector<int32_t> atoms(in.first_atom.back());
  std::iota(atoms.begin(), atoms.end(), 0);
  return atoms;
}

template <typename T>
void ExpectAllCasesEqualReference(double tolerance) {
  for (const BatchCase& batch : BatchCases()) {
    SCOPED_TRACE(batch.name + ", species: " + std::to_string(batch.options.species.size()));
    const Inputs in(batch);
    Kernels<T> kernels(batch, in);
    ASSERT_EQ(kernels.tables().num_features, batch.options.num_features());
    for (const auto& [moving, strained] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
      const Results<double> expected = Expected(batch, in, moving, strained);
      ExpectEqual(kernels.Compute(in, AllAtoms(in), moving, strained), expected, tolerance);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// The tolerances are those of the CPU's kernels in chebyshev_derivatives_test.
TEST(DescriptorBodiesTest, DoubleEqualsReference) { ExpectAllCasesEqualReference<double>(1e-11); }
TEST(DescriptorBodiesTest, FloatEqualsReference) { ExpectAllCasesEqualReference<float>(2e-5); }

// Products for some of the atoms have the same bits as for all, and nothing else is written.
TEST(DescriptorBodiesTest, SomeAtoms) {
  const BatchCase batch = BatchCases()[4];
  const Inputs in(batch);
  Kernels<float> kernels(batch, in);
  const Results<float> all = kernels.Compute(in, AllAtoms(in), true, true);
  const std::vector<int32_t> atoms = {40, 3, 17, 33};
  const Results<float> some = kernels.Compute(in, atoms, true, true);
  const auto expect = [&](const std::vector<float>& found, const std::vector<float>& expected, int64_t per_atom) {
    ASSERT_EQ(found.size(), expected.size());
    for (int64_t k = 0; k < static_cast<int64_t>(found.size()); ++k) {
      const bool asked = std::count(atoms.begin(), atoms.end(), k / per_atom) > 0;
      EXPECT_TRUE(asked ? found[k] == expected[k] : std::isnan(found[k])) << k;
    }
  };
  expect(some.force, all.force, 3);
  expect(some.tangents, all.tangents, batch.options.num_features());
}

// An atom's results do not depend on the structures beside it.
TEST(DescriptorBodiesTest, StructuresDoNotMix) {
  const BatchCase batch = BatchCases()[1];
  const Inputs in(batch);
  const Results<double> all = Kernels<double>(batch, in).Compute(in, AllAtoms(in), true, false);
  const BatchCase last = {batch.name, batch.options, {batch.structures.back()}};
  const Inputs alone(last);
  const Results<double> found = Kernels<double>(last, alone).Compute(alone, AllAtoms(alone), true, false);
  const size_t skipped = all.features.size() - found.features.size();
  for (size_t k = 0; k < found.features.size(); ++k) EXPECT_EQ(found.features[k], all.features[skipped + k]);
}

}  // namespace
}  // namespace rutile
