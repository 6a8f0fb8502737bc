// rutile_compute_list, with lists from plain loops over images, against rutile_compute_cell, which finds neighbors
// itself.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/md/md_testing.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"

namespace rutile {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::vector<int> AllAtoms(size_t n) {
  std::vector<int> atoms(n);
  std::iota(atoms.begin(), atoms.end(), 0);
  return atoms;
}

TEST(ComputeListTest, EqualsTheRouteOfPeriodicCells) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    std::vector<Potential> members(2, GoldenPotential(golden));
    std::vector<double> values = members[1].parameters.ToDoubles();
    for (double& w : values) w *= 1.05;
    members[1].parameters = Tensor::Of(values);
    const size_t pairs = golden.descriptor.species.size() * golden.descriptor.species.size();
    members[1].repulsion = {std::vector<double>(pairs, 1), std::vector<double>(pairs, 2)};
    const TestModel model(members);
    const TestResult cell = ComputeCell(model, golden.structure);
    const size_t n = golden.structure.size();
    const TestGhosts ghosts = MakeGhosts(golden.structure, model.Species(golden.structure), golden.descriptor.cutoff());
    const TestResult list = ComputeList(model, ghosts, AllAtoms(n));
    ASSERT_EQ(list.code, RUTILE_OK) << name << ": " << list.error;
    // Positions of images are rounded, and neighbors come in another order.
    EXPECT_NEAR(list.energy, cell.energy, 1e-12 * std::max(1.0, std::abs(cell.energy))) << name;
    double scale = 1;
    for (const double f : cell.member_forces) scale = std::max(scale, std::abs(f));
    const std::vector<double> home = SentHome(ghosts, list.forces.data(), n);
    for (size_t c = 0; c < 3 * n; ++c) EXPECT_NEAR(home[c], cell.forces[c], 1e-12 * scale) << name << " " << c;
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(list.virial[k], cell.virial[k], 1e-11 * scale) << name << " " << k;
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(list.atom_energy[i], cell.atom_energy[i], 1e-11) << name;
    const std::vector<double> virials = SentHome(ghosts, list.atom_virial.data(), n, 9);
    for (size_t k = 0; k < 9 * n; ++k) EXPECT_NEAR(virials[k], cell.atom_virial[k], 1e-11 * scale) << name << " " << k;
    for (int m = 0; m < 2; ++m) {
      EXPECT_NEAR(list.member_energy[m], cell.member_energy[m], 1e-12 * std::max(1.0, std::abs(cell.energy))) << name;
      const std::vector<double> member = SentHome(ghosts, &list.member_forces[m * list.forces.size()], n);
      for (size_t c = 0; c < 3 * n; ++c) EXPECT_NEAR(member[c], cell.member_forces[m * 3 * n + c], 1e-12 * scale);
    }
  }
}

// What two processes compute for their atoms adds up to the whole.
TEST(ComputeListTest, PartsAddUp) {
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  std::vector<Potential> members = {SmallTiO2Potential(1), SmallTiO2Potential(2)};
  members[1].repulsion = {{1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}};
  const TestModel model(members);
  const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 4);
  const TestResult whole = ComputeList(model, ghosts, AllAtoms(12));
  const TestResult a = ComputeList(model, ghosts, {0, 2, 4, 11}),
                   b = ComputeList(model, ghosts, {10, 1, 3, 5, 9, 8, 7, 6});
  const TestResult none = ComputeList(model, ghosts, {});
  ASSERT_EQ(whole.code + a.code + b.code + none.code, RUTILE_OK) << a.error << b.error << none.error;
  EXPECT_EQ(none.energy, 0);
  EXPECT_THAT(none.forces, Each(0));
  EXPECT_NEAR(a.energy + b.energy, whole.energy, 1e-12 * std::abs(whole.energy));
  EXPECT_NEAR(a.atom_energy[3], whole.atom_energy[11], 1e-12);
  EXPECT_NEAR(b.atom_energy[0], whole.atom_energy[10], 1e-12);
  for (size_t c = 0; c < whole.forces.size(); ++c) EXPECT_NEAR(a.forces[c] + b.forces[c], whole.forces[c], 1e-12);
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(a.virial[k] + b.virial[k], whole.virial[k], 1e-11);
  for (int m = 0; m < 2; ++m) {
    EXPECT_NEAR(a.member_energy[m] + b.member_energy[m], whole.member_energy[m], 1e-12 * std::abs(whole.energy));
  }
}

TEST(ComputeListTest, AtomsOfOtherModelsAreLeftOut) {
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  const TestModel model({SmallTiO2Potential(1)});
  TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 4);
  Structure without = structure;
  without.element.erase(without.element.begin() + 3);
  without.position.erase(without.position.begin() + 9, without.position.begin() + 12);
  const TestResult expected = ComputeCell(model, without);
  for (size_t i = 0; i < ghosts.owner.size(); ++i) {
    if (ghosts.owner[i] == 3) ghosts.species[i] = RUTILE_NO_SPECIES;
  }
  const TestResult r = ComputeList(model, ghosts, AllAtoms(12));
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  EXPECT_NEAR(r.energy, expected.energy, 1e-12 * std::abs(r.energy));
  EXPECT_EQ(r.atom_energy[3], 0);
  EXPECT_NEAR(r.atom_energy[4], expected.atom_energy[3], 1e-12);
  const std::vector<double> home = SentHome(ghosts, r.forces.data(), 12);
  for (int a = 0; a < 3; ++a) {
    EXPECT_EQ(home[9 + a], 0);
    EXPECT_NEAR(home[12 + a], expected.forces[9 + a], 1e-12);
  }
}

TEST(ComputeListTest, FlagsInEntriesAreMasked) {
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  const TestModel model({SmallTiO2Potential(1)});
  TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 4);
  const TestResult expected = ComputeList(model, ghosts, AllAtoms(12));
  ghosts.neighbors[0][0] |= 3 << 30;  // as LAMMPS marks bonded neighbors
  const TestResult r = ComputeList(model, ghosts, AllAtoms(12), 0x1fffffff);
  EXPECT_EQ(r.energy, expected.energy);
  EXPECT_EQ(ComputeList(model, ghosts, AllAtoms(12)).code, RUTILE_INVALID_ARGUMENT);
}

TEST(ComputeListTest, ForcesAreAddedOnRequest) {
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  const TestModel model({SmallTiO2Potential(1)});
  const TestResult expected = ComputeCell(model, structure);
  std::vector<double> forces(36, 1.0);
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.forces = forces.data();
  const std::vector<int> species = model.Species(structure);
  const int pbc[3] = {1, 1, 1};
  for (const int add : {1, 0}) {
    outputs.add_forces = add;
    ASSERT_EQ(rutile_compute_cell(model.context(), 12, species.data(), structure.position.data(), structure.cell.data(),
                                  pbc, &outputs),
              RUTILE_OK);
    for (int c = 0; c < 36; ++c) EXPECT_EQ(forces[c], add + expected.forces[c]);
  }
}

// Each wrong list is an error that names the atoms, counted from 1.
TEST(ComputeListTest, WrongListsAreErrors) {
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  const TestModel model({SmallTiO2Potential(1)});
  const TestGhosts good = MakeGhosts(structure, model.Species(structure), 4);
  const auto error = [&](const TestGhosts& ghosts, const std::vector<int>& centers) {
    const TestResult r = ComputeList(model, ghosts, centers);
    EXPECT_EQ(r.code, RUTILE_INVALID_ARGUMENT);
    EXPECT_THAT(r.forces, Each(0)) << "written after an error";
    return r.error;
  };
  TestGhosts bad = good;
  bad.neighbors[0].push_back(100000);
  EXPECT_THAT(error(bad, {0}), AllOf(HasSubstr("atom 1 "), HasSubstr("100000")));
  bad.neighbors[0].back() = -5;
  EXPECT_THAT(error(bad, {0}), HasSubstr("-5"));
  bad = good;
  bad.neighbors[1].push_back(good.neighbors[1].back());
  EXPECT_THAT(error(bad, {1}), AllOf(HasSubstr("list of atom 2"), HasSubstr("twice")));
  bad = good;
  bad.neighbors[1].push_back(1);
  EXPECT_THAT(error(bad, {1}), AllOf(HasSubstr("atoms 2 and 2"), HasSubstr("0.1")));
  EXPECT_THAT(error(good, {0, 0}), AllOf(HasSubstr("atom 1"), HasSubstr("twice")));
  EXPECT_THAT(error(good, {0, 5000}), HasSubstr("atom 5001"));
  EXPECT_THAT(error(good, {-1}), HasSubstr("center"));
  bad = good;
  bad.species[20] = RUTILE_UNKNOWN_SPECIES;
  EXPECT_THAT(error(bad, {0}), AllOf(HasSubstr("atom 21"), HasSubstr("Ti, O")));
  bad = good;
  bad.position[3 * 20 + 1] = std::nan("");
  EXPECT_THAT(error(bad, {0}), AllOf(HasSubstr("atom 21"), HasSubstr("nan")));

  // Half lists, as for pair potentials.
  TestGhosts half = good;
  for (int i = 0; i < 12; ++i) {
    std::vector<int>& list = half.neighbors[i];
    list.erase(std::remove_if(list.begin(), list.end(), [i](int j) { return j < i; }), list.end());
  }
  EXPECT_THAT(error(half, AllAtoms(12)), HasSubstr("not full"));

  double spread;
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy_spread = &spread;
  EXPECT_EQ(rutile_compute_list(model.context(), 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, -1, &outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(model.context()), HasSubstr("member_energy"));
}

TEST(ComputeListTest, TheCallersFunctionMayGiveUp) {
  const TestModel model({SmallTiO2Potential(1)});
  double energy = 7;
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy = &energy;
  const int species[1] = {0};
  const double position[3] = {0, 0, 0};
  const auto compute = [&](rutile_neighbors_function function) {
    return rutile_compute_list(model.context(), 1, species, position, 1, nullptr, function, nullptr, -1, &outputs);
  };
  EXPECT_EQ(compute([](void*, int, int*, const int**) { return 42; }), RUTILE_FAILED);
  EXPECT_THAT(rutile_last_error(model.context()), AllOf(HasSubstr("42"), HasSubstr("atom 1")));
  EXPECT_EQ(compute([](void*, int, int* count, const int**) {
              *count = 3;
              return 0;
            }),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_EQ(energy, 7);
  EXPECT_EQ(compute([](void*, int, int*, const int**) { return 0; }), RUTILE_OK);
  EXPECT_NE(energy, 7);
}

}  // namespace
}  // namespace rutile
