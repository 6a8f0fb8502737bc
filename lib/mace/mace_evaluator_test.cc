#include "lib/mace/mace_evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/mace/mace_file.h"
#include "lib/mace/mace_testing.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using Model = std::shared_ptr<const MaceModel>;

Model GoldenModel(const std::string& name) {
  const absl::StatusOr<TensorFile> file = ReadTensorFile("testdata/mace/" + name);
  CHECK(file.ok()) << file.status();
  return DecodeMace(*file).value();
}

Model Random(const MaceTestShape& shape, uint64_t seed = 1) {
  return std::make_shared<const MaceModel>(RandomMace(shape, seed));
}

// Atoms with a species as their element: the number of one in the model.
struct Atoms {
  std::vector<uint8_t> species;
  std::vector<double> position;
  Matrix3 cell = {};
  bool periodic = false;
};

struct Result {
  double energy;
  std::vector<double> atom_energies, force, atom_strain;
  Matrix3 strain;
};

Result Evaluate(const Model& model, const Atoms& atoms, MaceEvaluator* evaluator = nullptr) {
  std::unique_ptr<MaceEvaluator> own;
  if (evaluator == nullptr) {
    own = std::make_unique<MaceEvaluator>(model);
    evaluator = own.get();
  }
  Structure structure;
  structure.element = std::vector<uint8_t>(atoms.species.size(), 1);
  structure.position = atoms.position;
  structure.cell = atoms.cell;
  structure.pbc = {atoms.periodic, atoms.periodic, atoms.periodic};
  NeighborSearch search(model->neighborhood.cutoff);
  NeighborList neighbors;
  CHECK(search.Compute(structure, &neighbors).ok());
  StructureGeometry geometry;
  geometry.species = atoms.species;
  geometry.position = atoms.position;
  geometry.cell = atoms.cell;
  geometry.pairs = {neighbors.offset, neighbors.j.data(), neighbors.shift.data(), 0};
  const auto n = static_cast<int64_t>(atoms.species.size());
  Result result;
  result.atom_strain.resize(9 * n);
  evaluator->First(geometry, n, n);
  evaluator->Second();
  evaluator->BackFromSecond(result.atom_strain.data());
  evaluator->BackFromFirst();
  result.energy = evaluator->energy();
  result.atom_energies = evaluator->atom_energies();
  result.force = evaluator->forces().force;
  std::copy_n(evaluator->forces().strain, 9, result.strain.begin());
  return result;
}

// The atoms of equivariant.md's golden model, whose species are H and O.
Atoms GoldenAtoms() { return {{1, 0, 0, 1, 0}, {0, 0, 0, .96, 0, .1, -.24, .93, 0, 1.9, 1.2, .7, 2.2, .5, 1.5}}; }

// Fourteen atoms in a skewed cell that is thinner than the cutoff of 3 in one direction.
Atoms Crystal() {
  Atoms atoms;
  atoms.cell = {5.1, 0.2, 0, 0.4, 4.4, -0.3, 0.1, 0.6, 2.7};
  atoms.periodic = true;
  for (int i = 0; i < 14; ++i) {
    atoms.species.push_back(i % 3 == 0 ? 1 : 0);
    const double at[3] = {(i % 2) / 2.0 + 0.03 * std::sin(5.0 * i), ((i / 2) % 3) / 3.0 + 0.02 * std::cos(3.0 * i),
                          (i / 6) / 2.5 + 0.03 * std::sin(1.0 + i)};
    for (int c = 0; c < 3; ++c) {
      atoms.position.push_back(at[0] * atoms.cell[c] + at[1] * atoms.cell[3 + c] + at[2] * atoms.cell[6 + c]);
    }
  }
  return atoms;
}

struct Golden {
  std::string file;
  double energy;
  std::vector<double> atom_energies, force;
};

// Energies and forces by mace-torch 0.3.16; testdata/mace/README.md says how the models were made.
std::vector<Golden> GoldenResults() {
  return {{"one-layer.safetensors",
           -13.3578907065252,
           {-1.526485672762088, -3.4017081785349, -4.711843719226973, -1.6894290648451875, -2.028424071156051},
           {4.673486276566246, 4.812681386191031, 1.0716606683807823, -2.0899740108831057, -0.6427037996051594,
            0.656126796203965, 2.008068959020414, -2.6835385588431584, 0.5856446585294187, -1.049282026985027,
            -6.9344278506008274, 5.522399840044002, -3.5422991977185276, 5.4479888228581155, -7.835831963158168}},
          {"two-layers.safetensors",
           4.268724478540927,
           {-2.1595069161493283, 2.444351908610273, 4.883054211345401, -1.9834177467982574, 1.0842430215328385},
           {-3.9123929068454864, -4.553273692836399, -1.1058822149347765, 0.019247477397726254, 0.8248919695795688,
            -1.660635355511333, -4.283067632733226, 1.7863839908929755, -1.4572416928318694, 2.6117959188124695,
            9.008161227884088, -7.09669720586983, 5.564417143368516, -7.066163495520232, 11.320456469147809}}};
}

TEST(MaceEvaluatorTest, AgreesWithMaceTorch) {
  for (const Golden& golden : GoldenResults()) {
    const Result result = Evaluate(GoldenModel(golden.file), GoldenAtoms());
    EXPECT_NEAR(result.energy, golden.energy, 1e-12) << golden.file;
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(result.atom_energies[i], golden.atom_energies[i], 1e-12) << i;
    for (size_t c = 0; c < 15; ++c) EXPECT_NEAR(result.force[c], golden.force[c], 1e-12) << golden.file << " " << c;
  }
}

// Shapes that have each degree of harmonics, padded and whole vectors of channels, and both kinds of blocks.
std::vector<MaceTestShape> Shapes() {
  return {{{1, 8}, 3, 4, 0, 3, 1, false},  {{1, 8}, 3, 1, 1, 1, 2, false}, {{1, 8}, 3, 4, 2, 8, 2, true},
          {{1, 8}, 3, 5, 3, 11, 2, false}, {{1, 8}, 3, 3, 4, 5, 2, true},  {{1, 8}, 3, 4, 3, 16, 1, true}};
}

TEST(MaceEvaluatorTest, ForcesAreDifferencesOfTheEnergy) {
  for (const MaceTestShape& shape : Shapes()) {
    const Model model = Random(shape);
    MaceEvaluator evaluator(model);
    const Atoms atoms = Crystal();
    const Result result = Evaluate(model, atoms);
    double sum[3] = {};
    for (size_t c = 0; c < result.force.size(); ++c) sum[c % 3] += result.force[c];
    for (const double s : sum) EXPECT_NEAR(s, 0, 1e-11);
    for (const size_t c : {0, 4, 17, 41}) {
      double slope = 0;
      for (const auto& [step, weight] : {std::pair(1, 2.0 / 3), std::pair(2, -1.0 / 12)}) {
        Atoms moved = atoms;
        moved.position[c] += step * 1e-4;
        slope += weight * Evaluate(model, moved, &evaluator).energy;
        moved.position[c] -= 2 * step * 1e-4;
        slope -= weight * Evaluate(model, moved, &evaluator).energy;
      }
      // Rounding of energies of the order of 10, divided by the step.
      EXPECT_NEAR(result.force[c], -slope / 1e-4, 2e-9 * (1 + std::abs(result.force[c])))
          << shape.max_l << " " << shape.num_layers << " " << c;
    }
  }
}

TEST(MaceEvaluatorTest, StressIsTheDifferenceUnderStrain) {
  for (const MaceTestShape& shape : Shapes()) {
    const Model model = Random(shape);
    const Atoms atoms = Crystal();
    const Result result = Evaluate(model, atoms);
    for (int c = 0; c < 9; ++c) {
      double sum = 0;
      for (size_t i = 0; i < atoms.species.size(); ++i) sum += result.atom_strain[9 * i + c];
      EXPECT_NEAR(sum, result.strain[c], 1e-11);
      EXPECT_NEAR(result.strain[c], result.strain[3 * (c % 3) + c / 3], 1e-10);
    }
    for (const auto& [a, b] : {std::pair(0, 0), std::pair(1, 2), std::pair(2, 1)}) {
      double slope = 0;
      for (const int sign : {1, -1}) {
        Atoms strained = atoms;
        for (size_t i = 0; i < atoms.position.size(); i += 3) {
          strained.position[i + a] += sign * 1e-5 * atoms.position[i + b];
        }
        for (int row = 0; row < 3; ++row) strained.cell[3 * row + a] += sign * 1e-5 * atoms.cell[3 * row + b];
        slope += sign * Evaluate(model, strained).energy / 2e-5;
      }
      EXPECT_NEAR(result.strain[3 * a + b], slope, 1e-6 * (1 + std::abs(slope))) << shape.max_l << " " << a << b;
    }
  }
}

TEST(MaceEvaluatorTest, RotationsReflectionsAndTranslationsChangeNothing) {
  for (const MaceTestShape& shape : Shapes()) {
    const Model model = Random(shape);
    const Atoms atoms = GoldenAtoms();
    const Result result = Evaluate(model, atoms);
    // A rotation about an oblique axis by a quaternion, times the reflection of one axis.
    const double q[4] = {0.5, 0.1, -0.7, std::sqrt(1 - 0.25 - 0.01 - 0.49)};
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double turn[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (const double mirror : {1.0, -1.0}) {
      Atoms moved = atoms;
      const auto apply = [&](const double* from, double* to) {
        for (int c = 0; c < 3; ++c) {
          to[c] = turn[3 * c] * from[0] * mirror + turn[3 * c + 1] * from[1] + turn[3 * c + 2] * from[2];
        }
      };
      for (size_t i = 0; i < atoms.position.size(); i += 3) {
        apply(&atoms.position[i], &moved.position[i]);
        for (int c = 0; c < 3; ++c) moved.position[i + c] += 1.7 * c - 4;
      }
      const Result other = Evaluate(model, moved);
      EXPECT_NEAR(other.energy, result.energy, 1e-12 * (10 + std::abs(result.energy)));
      for (size_t i = 0; i < atoms.position.size(); i += 3) {
        double force[3];
        apply(&result.force[i], force);
        for (int c = 0; c < 3; ++c) EXPECT_NEAR(other.force[i + c], force[c], 1e-12 * (100 + std::abs(force[c])));
      }
    }
  }
}

TEST(MaceEvaluatorTest, TheOrderOfAtomsDoesNotMatter) {
  const Model model = Random({{1, 8}, 3, 4, 3, 8, 2, false});
  const Atoms atoms = Crystal();
  const Result result = Evaluate(model, atoms);
  const size_t n = atoms.species.size();
  Atoms other = atoms;
  for (size_t i = 0; i < n; ++i) {
    other.species[i] = atoms.species[(5 * i + 3) % n];
    for (int c = 0; c < 3; ++c) other.position[3 * i + c] = atoms.position[3 * ((5 * i + 3) % n) + c];
  }
  const Result shuffled = Evaluate(model, other);
  EXPECT_NEAR(shuffled.energy, result.energy, 1e-11);
  for (size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(shuffled.atom_energies[i], result.atom_energies[(5 * i + 3) % n], 1e-12);
  }
}

TEST(MaceEvaluatorTest, IsolatedAtomsHaveTheirOwnEnergy) {
  for (const bool residual : {false, true}) {
    const Model model = Random({{1, 8}, 3, 4, 2, 8, 1, residual});
    const Result result = Evaluate(model, {{1, 0}, {0, 0, 0, 3.0, 0, 0}});  // at the cutoff
    for (const double f : result.force) EXPECT_EQ(f, 0);
    double skip = 0;
    for (int k = 0; k < 8 && residual; ++k) skip += model->layers[0].skip[8 + k] * model->layers[0].readout[k];
    EXPECT_NEAR(result.atom_energies[0], model->atomic_energies[1] + model->shift + model->scale * skip, 1e-14);
  }
}

TEST(MaceEvaluatorTest, EnergiesAndForcesAreContinuousAtTheCutoff) {
  const Model model = Random({{1, 8}, 3, 4, 3, 8, 2, false});
  const Result inside = Evaluate(model, {{1, 0, 0}, {0, 0, 0, 0, 0, 1.1, 2.9999, 0, 0}});
  const Result outside = Evaluate(model, {{1, 0, 0}, {0, 0, 0, 0, 0, 1.1, 3.0001, 0, 0}});
  EXPECT_NEAR(inside.energy, outside.energy, 1e-8);
  for (size_t c = 0; c < inside.force.size(); ++c) EXPECT_NEAR(inside.force[c], outside.force[c], 1e-3);
}

// Splines change energies and forces by little, and forces stay the gradient of the energy, also where one of the pairs
// is nearer than the first knot.
TEST(MaceEvaluatorTest, SplinesOfRadialFunctions) {
  for (const MaceTestShape& shape : Shapes()) {
    MaceModel model = RandomMace(shape, 1);
    const Result exact = Evaluate(std::make_shared<const MaceModel>(model), GoldenAtoms());
    double scale = 1;
    for (const double f : exact.force) scale = std::max(scale, std::abs(f));
    for (const auto& [knots, bound] : {std::pair(300, 1e-8), std::pair(12, 10.0)}) {
      model.radial_splines = knots;
      const auto splined = std::make_shared<const MaceModel>(model);
      Atoms atoms = GoldenAtoms();
      Result result = Evaluate(splined, atoms);
      EXPECT_NEAR(result.energy, exact.energy, bound * scale);
      if (knots == 12) {
        EXPECT_NE(result.energy, exact.energy);
      }
      for (size_t c = 0; c < result.force.size(); ++c) EXPECT_NEAR(result.force[c], exact.force[c], bound * scale) << c;
      for (const bool near : {false, true}) {
        if (near) atoms.position[3] = 0.15, atoms.position[5] = 0;
        result = Evaluate(splined, atoms);
        for (const int c : {0, 3, 13}) {
          Atoms low = atoms, high = atoms;
          low.position[c] -= 1e-5;
          high.position[c] += 1e-5;
          const double slope = (Evaluate(splined, high).energy - Evaluate(splined, low).energy) / 2e-5;
          EXPECT_NEAR(result.force[c], -slope, 1e-5 * std::max(scale, std::abs(slope))) << knots << " knots, " << c;
        }
      }
    }
  }
}

// Results do not depend on what an evaluator computed before.
TEST(MaceEvaluatorTest, MemoryIsReused) {
  const Model model = Random({{1, 8}, 3, 4, 3, 11, 2, false});
  MaceEvaluator evaluator(model);
  Evaluate(model, Crystal(), &evaluator);
  const Result again = Evaluate(model, GoldenAtoms(), &evaluator), fresh = Evaluate(model, GoldenAtoms());
  EXPECT_EQ(again.energy, fresh.energy);
  EXPECT_EQ(again.force, fresh.force);
}

}  // namespace
}  // namespace rutile
