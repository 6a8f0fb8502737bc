// Potentials of two layers through the C interface: cells, lists with those of neighbors, and lists of centers with an
// exchange of messages, all of which give the same.

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/moment_options.h"
#include "lib/mace/mace_testing.h"
#include "lib/md/md_testing.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

Potential TwoLayers(double seed = 0.3, int vectors = 0) {
  MomentOptions moments;
  moments.species = {22, 8};
  moments.cutoff = 3.5;
  moments.num_radial = 4;
  moments.max_l = 2;
  Potential p;
  p.descriptor = moments;
  SetInputs(p.descriptor, /*channels=*/6, /*messages=*/3, vectors, &p.shape);
  p.shape.hidden = {5};
  p.shape.activation = Activation::kSilu;
  p.feature_scaling.num_species = 2;
  p.feature_scaling.num_features = p.shape.num_features;
  p.feature_scaling.mean.assign(2 * p.shape.num_features, 0.0);
  p.feature_scaling.scale.assign(2 * p.shape.num_features, 0.4);
  p.energy_scaling.scale = 0.7;
  p.energy_scaling.shift = -0.3;
  p.atomic_energies = {-1, -2};
  std::vector<double> parameters(p.shape.num_parameters());
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k] = std::sin(1.7 * static_cast<double>(k) + seed);
  p.parameters = Tensor::Of(parameters);
  return p;
}

// A MACE model of mace-torch. splines: knots of its radial functions, 0 for none.
Potential Mace(int num_layers, int splines = 0) {
  MaceModel model = RandomMace({{22, 8}, 3.5, 4, 2, 6, num_layers, false}, 5);
  model.radial_splines = splines;
  return PotentialOfMace(std::make_shared<const MaceModel>(model));
}

// Five atoms in a skew cell that is thinner than two cutoffs.
Structure Crystal() {
  Structure structure;
  structure.element = {22, 8, 8, 22, 8};
  structure.position = {0, 0, 0, 1.9, 0.2, 0.1, 0.3, 2.0, 0.4, 2.1, 2.2, 1.8, 0.2, 0.3, 2.1};
  structure.cell = {4.1, 0, 0, 0.4, 4.0, 0, -0.3, 0.2, 4.2};
  structure.pbc = {true, true, true};
  return structure;
}

void ExpectFiniteDifferences(const Potential& potential) {
  const TestModel model({potential});
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(model.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.num_layers, 2);
  const Structure structure = Crystal();
  const TestResult r = ComputeCell(model, structure);
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  constexpr double kStep = 1e-5;
  const double largest = std::abs(*std::max_element(r.forces.begin(), r.forces.end(),
                                                    [](double a, double b) { return std::abs(a) < std::abs(b); }));
  ASSERT_GT(largest, 1e-3);
  for (size_t c = 0; c < r.forces.size(); ++c) {
    Structure low = structure, high = structure;
    low.position[c] -= kStep;
    high.position[c] += kStep;
    const double slope = (ComputeCell(model, high).energy - ComputeCell(model, low).energy) / (2 * kStep);
    EXPECT_NEAR(r.forces[c], -slope, 1e-6 * std::max(1.0, largest)) << c;
  }
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      const auto strained = [&](double strain) {
        Structure s = structure;
        for (int64_t v = 0; v < s.size(); ++v) s.position[3 * v + a] += strain * structure.position[3 * v + b];
        for (int v = 0; v < 3; ++v) s.cell[3 * v + a] += strain * structure.cell[3 * v + b];
        return ComputeCell(model, s).energy;
      };
      const double slope = (strained(kStep) - strained(-kStep)) / (2 * kStep);
      EXPECT_NEAR(r.virial[3 * a + b], slope, 1e-5 * std::max(1.0, std::abs(slope))) << a << b;
      double sum = 0;
      for (int64_t v = 0; v < structure.size(); ++v) sum += r.atom_virial[9 * v + 3 * a + b];
      const double mean = 0.5 * (sum + [&] {
                            double other = 0;
                            for (int64_t v = 0; v < structure.size(); ++v) other += r.atom_virial[9 * v + 3 * b + a];
                            return other;
                          }());
      EXPECT_NEAR(mean, r.virial[3 * a + b], 1e-9 * std::max(1.0, std::abs(slope)));
    }
  }
}

TEST(TwoLayersTest, ForcesAndVirialsAreFiniteDifferences) {
  ExpectFiniteDifferences(TwoLayers());
  ExpectFiniteDifferences(TwoLayers(0.3, /*vectors=*/2));
  ExpectFiniteDifferences(Mace(2, /*splines=*/20));
}

// A skew cell of `atoms` atoms at random places, no two nearer than 1.5 Angstrom.
Structure RandomCrystal(int atoms, double edge, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Structure structure;
  structure.cell = {edge, 0, 0, 0.2 * edge, 0.95 * edge, 0, -0.15 * edge, 0.1 * edge, 1.1 * edge};
  structure.pbc = {true, true, true};
  while (structure.size() < atoms) {
    const double a = uniform(random), b = uniform(random), c = uniform(random);
    double r[3];
    for (int k = 0; k < 3; ++k) r[k] = a * structure.cell[k] + b * structure.cell[3 + k] + c * structure.cell[6 + k];
    Structure with = structure;
    with.element.push_back(structure.size() % 3 == 0 ? 22 : 8);
    with.position.insert(with.position.end(), r, r + 3);
    bool apart = true;
    const TestGhosts near = MakeGhosts(with, std::vector<int>(with.element.size(), 0), 1.5);
    for (const std::vector<int>& list : near.neighbors) apart = apart && list.empty();
    if (apart) structure = with;
  }
  return structure;
}

std::vector<int> AllAtoms(int64_t n) {
  std::vector<int> atoms(n);
  std::iota(atoms.begin(), atoms.end(), 0);
  return atoms;
}

// Expects a result for atoms with images, or several for parts of them, to add up to that of the cell.
void ExpectSame(const TestResult& cell, const TestGhosts& ghosts, const std::vector<TestResult>& parts, int64_t n,
                double tolerance) {
  double largest = 1, energy = 0;
  for (const double f : cell.member_forces) largest = std::max(largest, std::abs(f));
  std::vector<double> forces(3 * n), virial(9), virials(9 * n), member_forces(cell.member_forces.size()), atom_energy;
  std::vector<double> member_energy(cell.member_energy.size());
  for (const TestResult& part : parts) {
    ASSERT_EQ(part.code, RUTILE_OK) << part.error;
    const auto add = [](const std::vector<double>& from, std::vector<double>* to, size_t first = 0) {
      for (size_t k = 0; k < from.size(); ++k) (*to)[first + k] += from[k];
    };
    energy += part.energy;
    add(SentHome(ghosts, part.forces.data(), n), &forces);
    add({part.virial.begin(), part.virial.end()}, &virial);
    add(SentHome(ghosts, part.atom_virial.data(), n, 9), &virials);
    add(part.member_energy, &member_energy);
    for (size_t m = 0; m < member_energy.size(); ++m) {
      add(SentHome(ghosts, &part.member_forces[m * part.forces.size()], n), &member_forces, 3 * n * m);
    }
  }
  // Positions of images are rounded, and neighbors come in another order.
  EXPECT_NEAR(energy, cell.energy, tolerance * std::max(1.0, std::abs(cell.energy)));
  for (int64_t c = 0; c < 3 * n; ++c) EXPECT_NEAR(forces[c], cell.forces[c], tolerance * largest) << c;
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(virial[k], cell.virial[k], 10 * tolerance * largest) << k;
  for (int64_t k = 0; k < 9 * n; ++k) EXPECT_NEAR(virials[k], cell.atom_virial[k], 10 * tolerance * largest) << k;
  for (size_t m = 0; m < member_energy.size(); ++m) {
    EXPECT_NEAR(member_energy[m], cell.member_energy[m], tolerance * std::max(1.0, std::abs(cell.energy))) << m;
  }
  for (size_t c = 0; c < member_forces.size(); ++c) {
    EXPECT_NEAR(member_forces[c], cell.member_forces[c], tolerance * largest) << c;
  }
}

// A potential of one layer with the same descriptor, which may stand in a committee with others of two.
Potential OneLayer() {
  Potential p = TwoLayers();
  p.shape.moments.messages = 0;
  std::vector<double> parameters(p.shape.num_parameters());
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k] = std::cos(1.3 * static_cast<double>(k));
  p.parameters = Tensor::Of(parameters);
  return p;
}

std::vector<std::vector<Potential>> Committees() {
  Potential repels = TwoLayers(0.7);
  repels.repulsion = {std::vector<double>(4, 1), std::vector<double>(4, 2)};
  const Potential vectors = TwoLayers(0.4, /*vectors=*/2), all_vectors = TwoLayers(0.5, /*vectors=*/3);
  return {{TwoLayers()},      {TwoLayers(), repels},          {OneLayer(), repels, vectors},
          {vectors},          {all_vectors, repels, vectors}, {Mace(2)},
          {Mace(1), Mace(2)}, {Mace(2, 20), Mace(1)}};
}

// Cells thinner than the cutoff, between one cutoff and two, and wider than two; an atom of which all neighbors are
// images, and an isolated one.
std::vector<Structure> Structures() {
  Structure one = Crystal();
  one.element.resize(1);
  one.position.resize(3);
  Structure isolated = one;
  isolated.pbc = {false, false, false};
  Structure slab = Crystal();
  slab.pbc[2] = false;
  return {Crystal(), RandomCrystal(3, 2.9, 1), RandomCrystal(12, 5.2, 2), RandomCrystal(10, 7.6, 3), one, slab,
          isolated};
}

TEST(TwoLayersTest, ListsEqualTheRouteOfPeriodicCells) {
  for (const std::vector<Potential>& committee : Committees()) {
    for (const int precision : {64, 32}) {
      if (precision == 32 && committee[0].mace != nullptr) continue;  // refused, which mace_test sees
      const TestModel model(committee, precision);
      for (const Structure& structure : Structures()) {
        const int64_t n = structure.size();
        SCOPED_TRACE(absl::StrCat(committee.size(), " members, ", n, " atoms, fp", precision));
        const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5, /*num_layers=*/2);
        const TestResult cell = ComputeCell(model, structure);
        const TestResult list = ComputeList(model, ghosts, AllAtoms(n));
        ExpectSame(cell, ghosts, {list}, n, precision == 64 ? 1e-12 : 3e-5);
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_NEAR(list.atom_energy[i], cell.atom_energy[i], precision == 64 ? 1e-11 : 1e-4) << i;
        }
      }
    }
  }
}

// What two processes compute for their atoms adds up to the whole, each with what its centers' energies exert on all.
TEST(TwoLayersTest, PartsOfListsAddUp) {
  const Structure structure = RandomCrystal(12, 5.2, 2);
  const TestModel model(Committees()[2]);
  const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5, /*num_layers=*/2);
  const TestResult a = ComputeList(model, ghosts, {0, 2, 4, 11}),
                   b = ComputeList(model, ghosts, {10, 1, 3, 5, 9, 8, 7, 6}), none = ComputeList(model, ghosts, {});
  ExpectSame(ComputeCell(model, structure), ghosts, {a, b, none}, 12, 1e-12);
  EXPECT_THAT(none.forces, Each(0));
}

// Processes that exchange messages, as threads that wait for each other: rows of all atoms of the cell are collected
// from their owners' centers, or added up.
class Processes {
 public:
  Processes(const TestGhosts& ghosts, std::vector<std::vector<int>> centers)
      : ghosts_(ghosts), centers_(std::move(centers)) {}

  std::vector<TestResult> Run(const std::vector<Potential>& committee, int precision) {
    std::vector<std::unique_ptr<TestModel>> models;
    for (size_t p = 0; p < centers_.size(); ++p) {
      models.push_back(std::make_unique<TestModel>(committee, precision));  // a file that others read is not rewritten
    }
    std::vector<TestResult> results(centers_.size());
    std::vector<std::thread> threads;
    for (size_t p = 0; p < centers_.size(); ++p) {
      threads.emplace_back([&, p] {
        Rank rank = {this, static_cast<int>(p)};
        rutile_exchange exchange = {};
        exchange.struct_size = sizeof(exchange);
        exchange.send_out = SendOut;
        exchange.send_home = SendHome;
        exchange.user = &rank;
        results[p] = ComputeList(*models[p], ghosts_, centers_[p], -1, &exchange);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

 private:
  struct Rank {
    Processes* all;
    int rank;
  };

  static int SendOut(void* user, int width, double* values) {
    const Rank& me = *static_cast<Rank*>(user);
    Processes& all = *me.all;
    all.Meet([&] {
      all.rows_.resize(all.ghosts_.owner.size() * width);
      for (const int i : all.centers_[me.rank]) std::copy_n(values + i * width, width, &all.rows_[i * width]);
    });
    for (size_t i = 0; i < all.ghosts_.owner.size(); ++i) {
      if (!all.IsCenter(me.rank, i)) std::copy_n(&all.rows_[all.ghosts_.owner[i] * width], width, values + i * width);
    }
    all.Meet([] {});  // all have read
    all.Meet([&] { all.rows_.assign(all.rows_.size(), 0.0); });
    return 0;
  }

  static int SendHome(void* user, int width, double* values) {
    const Rank& me = *static_cast<Rank*>(user);
    Processes& all = *me.all;
    all.Meet([&] {
      for (size_t i = 0; i < all.ghosts_.owner.size(); ++i) {
        if (all.IsCenter(me.rank, i)) continue;
        for (int k = 0; k < width; ++k) all.rows_[all.ghosts_.owner[i] * width + k] += values[i * width + k];
      }
    });
    for (const int i : all.centers_[me.rank]) {
      for (int k = 0; k < width; ++k) values[i * width + k] += all.rows_[i * width + k];
    }
    return 0;
  }

  bool IsCenter(int rank, size_t atom) const {
    const std::vector<int>& centers = centers_[rank];
    return std::find(centers.begin(), centers.end(), static_cast<int>(atom)) != centers.end();
  }

  // Does something alone, and waits until all have.
  template <typename Body>
  void Meet(const Body& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    body();
    const size_t round = arrived_++ / centers_.size();
    changed_.notify_all();
    changed_.wait(lock, [&] { return arrived_ >= (round + 1) * centers_.size(); });
  }

  const TestGhosts& ghosts_;
  const std::vector<std::vector<int>> centers_;
  std::vector<double> rows_;  // [atoms, width]
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0;
};

TEST(TwoLayersTest, ProcessesThatExchangeMessagesComputeTogether) {
  for (const std::vector<Potential>& committee : Committees()) {
    const TestModel model(committee);
    for (const Structure& structure : Structures()) {
      const int64_t n = structure.size();
      SCOPED_TRACE(absl::StrCat(committee.size(), " members, ", n, " atoms"));
      // One cutoff is enough for images, and only centers have lists.
      const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5);
      std::vector<std::vector<int>> centers(3);  // the last process has none
      for (int i = 0; i < n; ++i) centers[i % 3 == 1].push_back(i);
      const TestResult cell = ComputeCell(model, structure);
      ExpectSame(cell, ghosts, Processes(ghosts, centers).Run(committee, 64), n, 1e-12);
      ExpectSame(cell, ghosts, Processes(ghosts, {AllAtoms(n)}).Run(committee, 64), n, 1e-12);
    }
  }
}

TEST(TwoLayersTest, PotentialsOfOneLayerExchangeNothing) {
  const Structure structure = Crystal();
  const TestModel model({OneLayer()});
  const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5);
  rutile_exchange exchange = {};
  exchange.struct_size = sizeof(exchange);
  exchange.send_out = exchange.send_home = [](void*, int, double*) { return 1; };
  const TestResult without = ComputeList(model, ghosts, AllAtoms(5));
  const TestResult with = ComputeList(model, ghosts, AllAtoms(5), -1, &exchange);
  ASSERT_EQ(with.code, RUTILE_OK) << with.error;
  EXPECT_EQ(with.energy, without.energy);
  EXPECT_EQ(with.forces, without.forces);
}

// Without forces nothing goes back, and energies are the same.
TEST(TwoLayersTest, EnergiesAloneNeedOneWay) {
  const Structure structure = Crystal();
  const TestModel model({TwoLayers()});
  const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5, /*num_layers=*/2);
  const double expected = ComputeList(model, ghosts, AllAtoms(5)).energy;
  const auto neighbors = [](void* user, int atom, int* count, const int** list) {
    const std::vector<int>& found = static_cast<const TestGhosts*>(user)->neighbors[atom];
    *count = static_cast<int>(found.size());
    *list = found.data();
    return 0;
  };
  const auto send_out = [](void* user, int width, double* values) {
    const TestGhosts& all = *static_cast<const TestGhosts*>(user);
    for (size_t i = 5; i < all.owner.size(); ++i) std::copy_n(values + all.owner[i] * width, width, values + i * width);
    return 0;
  };
  rutile_exchange exchange = {};
  exchange.struct_size = sizeof(exchange);
  exchange.send_out = send_out;
  exchange.send_home = [](void*, int, double*) { return 1; };
  void* const user = const_cast<TestGhosts*>(&ghosts);
  exchange.user = user;
  for (const rutile_exchange* const how : {static_cast<const rutile_exchange*>(nullptr), &std::as_const(exchange)}) {
    double energy = 0;
    rutile_outputs outputs = {};
    outputs.struct_size = sizeof(outputs);
    outputs.energy = &energy;
    ASSERT_EQ(
        rutile_compute_list_together(model.context(), static_cast<int>(ghosts.owner.size()), ghosts.species.data(),
                                     ghosts.position.data(), 5, nullptr, neighbors, user, -1, how, &outputs),
        RUTILE_OK)
        << rutile_last_error(model.context());
    EXPECT_NEAR(energy, expected, 1e-12 * std::max(1.0, std::abs(expected)));
  }
}

TEST(TwoLayersTest, InfoSaysHowFarAtomsAreNeeded) {
  const TestModel one({OneLayer()}), two({TwoLayers()}), both({OneLayer(), TwoLayers(), TwoLayers()});
  const auto info = [](const TestModel& model) {
    rutile_model_info result = {};
    result.struct_size = sizeof(result);
    EXPECT_EQ(rutile_get_info(model.model(), &result), RUTILE_OK);
    return result;
  };
  EXPECT_EQ(info(one).influence_distance, 3.5);
  EXPECT_EQ(info(one).num_messages, 0);
  EXPECT_EQ(info(two).influence_distance, 7);
  EXPECT_EQ(info(two).num_messages, 3);
  EXPECT_EQ(info(both).num_layers, 2);
  EXPECT_EQ(info(both).num_messages, 6);
  // A vector is three numbers.
  EXPECT_EQ(info(TestModel({TwoLayers(), TwoLayers(0.3, /*vectors=*/2)})).num_messages, 3 + 3 + 3 * 2);
  // A program that was compiled with an older header gets what it knows.
  rutile_model_info old = {};
  old.struct_size = offsetof(rutile_model_info, influence_distance);
  old.influence_distance = -1;
  EXPECT_EQ(rutile_get_info(two.model(), &old), RUTILE_OK);
  EXPECT_EQ(old.num_layers, 2);
  EXPECT_EQ(old.influence_distance, -1);
}

TEST(TwoLayersTest, WrongListsAreErrors) {
  const Structure structure = Crystal();
  const TestModel model({TwoLayers()});
  const TestGhosts good = MakeGhosts(structure, model.Species(structure), 3.5, /*num_layers=*/2);
  const auto error = [&](const TestGhosts& ghosts, const rutile_exchange* exchange = nullptr) {
    const TestResult r = ComputeList(model, ghosts, {0}, -1, exchange);
    EXPECT_NE(r.code, RUTILE_OK);
    EXPECT_THAT(r.forces, Each(0)) << "written after an error";
    return r.error;
  };
  const int neighbor = good.neighbors[0].back();  // the nearest
  const std::string name = absl::StrCat("atom ", neighbor + 1, " ");
  TestGhosts bad = good;
  bad.neighbors[neighbor].clear();
  EXPECT_THAT(error(bad), AllOf(HasSubstr(name), HasSubstr("1 of them"), HasSubstr("has 0"), HasSubstr("two layers")));
  // As for one layer: only atoms of the structure have lists.
  EXPECT_THAT(error(MakeGhosts(structure, model.Species(structure), 3.5)), HasSubstr("two layers"));
  bad = good;
  bad.neighbors[neighbor].push_back(bad.neighbors[neighbor].back());
  EXPECT_THAT(error(bad), AllOf(HasSubstr("list of " + name), HasSubstr("twice")));
  bad = good;
  const int second = good.neighbors[0][good.neighbors[0].size() - 2];
  std::vector<int>& list = bad.neighbors[neighbor];
  if (std::find(list.begin(), list.end(), second) == list.end()) list.push_back(second);
  list.erase(std::find(list.begin(), list.end(), second));
  EXPECT_THAT(error(bad), HasSubstr("not full"));

  rutile_exchange exchange = {};
  EXPECT_THAT(error(good, &exchange), HasSubstr("struct_size of rutile_exchange"));
  exchange.struct_size = sizeof(exchange);
  EXPECT_THAT(error(good, &exchange), HasSubstr("null"));
  exchange.send_out = [](void*, int width, double*) { return width == 3 ? 42 : 7; };
  exchange.send_home = [](void*, int, double*) { return 43; };
  EXPECT_THAT(error(good, &exchange), AllOf(HasSubstr("send_out"), HasSubstr("42")));
  exchange.send_out = [](void*, int, double*) { return 0; };
  EXPECT_THAT(error(good, &exchange), AllOf(HasSubstr("send_home"), HasSubstr("43")));
}

TEST(TwoLayersTest, AtomsOfOtherModelsAreLeftOut) {
  const Structure structure = RandomCrystal(12, 5.2, 2);
  const TestModel model({TwoLayers()});
  TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5, /*num_layers=*/2);
  Structure without = structure;
  without.element.erase(without.element.begin() + 3);
  without.position.erase(without.position.begin() + 9, without.position.begin() + 12);
  const TestResult expected = ComputeCell(model, without);
  for (size_t i = 0; i < ghosts.owner.size(); ++i) {
    if (ghosts.owner[i] == 3) ghosts.species[i] = RUTILE_NO_SPECIES;
  }
  const TestResult r = ComputeList(model, ghosts, AllAtoms(12));
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  EXPECT_NEAR(r.energy, expected.energy, 1e-12 * std::max(1.0, std::abs(r.energy)));
  const std::vector<double> home = SentHome(ghosts, r.forces.data(), 12);
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(home[12 + a], expected.forces[9 + a], 1e-11);
}

}  // namespace
}  // namespace rutile
