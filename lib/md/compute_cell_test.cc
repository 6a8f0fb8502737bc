// rutile_compute_cell against golden values, against evaluate, and against differences of its own energy.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/md/md_testing.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "lib/structure/cell.h"

namespace rutile {
namespace {

using ::testing::Each;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

double Largest(const std::vector<double>& values) {
  double largest = 1;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// The first structures of the data, and what evaluate says of them.
struct Evaluated {
  std::vector<Structure> structures;
  std::vector<StructurePrediction> predictions;
};

Evaluated Evaluate(const std::vector<Potential>& models) {
  Evaluated result;
  PredictOptions options;
  options.frames = std::vector<int64_t>{0, 100, 200, 300, 402};
  options.on_structure = [&](const Structure& structure) {
    result.structures.push_back(structure);
    return absl::OkStatus();
  };
  auto predictions = PredictInputs(models, {kTio2}, options);
  EXPECT_TRUE(predictions.ok()) << predictions.status();
  result.predictions = *std::move(predictions);
  return result;
}

TEST(ComputeCellTest, MatchesGoldenValues) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    const TestModel model({GoldenPotential(golden)});
    const TestResult r = ComputeCell(model, golden.structure);
    ASSERT_EQ(r.code, RUTILE_OK) << name << ": " << r.error;
    EXPECT_EQ(r.error, "");
    // The golden values are accurate to 1e-10.
    EXPECT_NEAR(r.energy, golden.energy, 1e-10 * std::max(1.0, std::abs(golden.energy))) << name;
    for (size_t c = 0; c < golden.force.size(); ++c) {
      EXPECT_NEAR(r.forces[c], golden.force[c], 1e-10 * std::max(1.0, std::abs(golden.force[c]))) << name << " " << c;
    }
    double sum = 0;
    for (const double e : r.atom_energy) sum += e;
    EXPECT_NEAR(sum, r.energy, 1e-12 * std::max(1.0, std::abs(r.energy))) << name;
    EXPECT_EQ(r.energy_spread, 0);
    EXPECT_THAT(r.force_spread, Each(0));
    EXPECT_THAT(r.outside, Each(0));
    EXPECT_EQ(r.member_energy, std::vector<double>{r.energy});
    EXPECT_EQ(r.member_forces, r.forces);
  }
}

TEST(ComputeCellTest, IsWhatEvaluatePredicts) {
  std::vector<Potential> models = {SmallTiO2Potential(1), SmallTiO2Potential(2), SmallTiO2Potential(3)};
  models[0].repulsion = {{1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}};  // a part of the first member alone
  for (const int members : {1, 3}) {
    const std::vector<Potential> committee(models.begin(), models.begin() + members);
    const Evaluated evaluated = Evaluate(committee);
    const TestModel model(committee);
    for (size_t s = 0; s < evaluated.structures.size(); ++s) {
      const Structure& structure = evaluated.structures[s];
      const StructurePrediction& p = evaluated.predictions[s];
      const TestResult r = ComputeCell(model, structure);
      ASSERT_EQ(r.code, RUTILE_OK) << r.error;
      EXPECT_NEAR(r.energy, p.predicted_energy, 1e-12 * std::abs(r.energy));
      const double largest = Largest(p.predicted_force), volume = CellVolume(structure.cell);
      ASSERT_EQ(r.forces.size(), p.predicted_force.size());
      for (size_t c = 0; c < r.forces.size(); ++c) EXPECT_NEAR(r.forces[c], p.predicted_force[c], 1e-12 * largest);
      for (int k = 0; k < 9; ++k) EXPECT_NEAR(r.virial[k] / volume, (*p.predicted_stress)[k], 1e-12 * largest);
      for (size_t i = 0; i < p.atom_energy.size(); ++i) EXPECT_NEAR(r.atom_energy[i], p.atom_energy[i], 1e-11);
      EXPECT_NEAR(r.energy_spread, p.energy_spread.value_or(0), 1e-12 * std::abs(r.energy));
      for (size_t i = 0; i < p.force_spread.size(); ++i) {
        EXPECT_NEAR(r.force_spread[i], p.force_spread[i], 1e-12 * largest);
      }
      EXPECT_EQ(members > 1, r.energy_spread > 0);
    }
  }
}

TEST(ComputeCellTest, SinglePrecisionIsAsInTheFileOrAsAskedFor) {
  const Potential potential = SmallTiO2Potential(1);
  const Evaluated evaluated = Evaluate({WithPrecision(potential, DType::kF32)});
  const TestModel from_file({WithPrecision(potential, DType::kF32)}), asked({potential}, 32), exact({potential});
  for (size_t s = 0; s < evaluated.structures.size(); ++s) {
    const TestResult a = ComputeCell(from_file, evaluated.structures[s]);
    const TestResult b = ComputeCell(asked, evaluated.structures[s]);
    EXPECT_EQ(a.energy, evaluated.predictions[s].predicted_energy);
    EXPECT_EQ(a.energy, b.energy);
    EXPECT_EQ(a.forces, b.forces);
    // fp32 has 24 bits; features and networks lose a few more.
    EXPECT_NEAR(a.energy, ComputeCell(exact, evaluated.structures[s]).energy, 1e-5 * std::abs(a.energy));
  }
}

TEST(ComputeCellTest, ForcesAndVirialAreFiniteDifferences) {
  for (const char* name : {"triclinic_4atoms", "fcc_cu_primitive_1atom", "slab_pbc_TTF", "water_isolated"}) {
    const GoldenCase golden = ReadGoldenCase(name);
    const TestModel model({GoldenPotential(golden)});
    const TestResult r = ComputeCell(model, golden.structure);
    ASSERT_EQ(r.code, RUTILE_OK) << r.error;
    const auto energy = [&](const Structure& s) { return ComputeCell(model, s).energy; };
    constexpr double kStep = 2e-5;  // the error of central differences is its square times a third derivative
    for (size_t c = 0; c < std::min<size_t>(6, r.forces.size()); ++c) {
      Structure moved = golden.structure;
      moved.position[c] += kStep;
      const double above = energy(moved);
      moved.position[c] -= 2 * kStep;
      EXPECT_NEAR(r.forces[c], -(above - energy(moved)) / (2 * kStep), 1e-6) << name << " force " << c;
    }
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        const auto strained = [&](double strain) {
          Structure s = golden.structure;
          for (size_t i = 0; i < s.position.size(); i += 3) s.position[i + a] += strain * s.position[i + b];
          for (int row = 0; row < 3; ++row) s.cell[3 * row + a] += strain * s.cell[3 * row + b];
          return energy(s);
        };
        EXPECT_NEAR(r.virial[3 * a + b], (strained(kStep) - strained(-kStep)) / (2 * kStep), 1e-5) << name << a << b;
        EXPECT_EQ(r.virial[3 * a + b], r.virial[3 * b + a]);
      }
    }
  }
}

// Of two atoms, all pairs have both, so that each has half of the virial.
TEST(ComputeCellTest, AtomVirialsAreHalvesOfPairs) {
  const TestModel model({SmallTiO2Potential(1), SmallTiO2Potential(2)});
  Structure pair;
  pair.element = {22, 8};
  pair.position = {0, 0, 0, 1.1, 0.7, -1.3};
  const TestResult r = ComputeCell(model, pair);
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  for (int k = 0; k < 9; ++k) {
    EXPECT_NEAR(r.atom_virial[k], r.virial[k] / 2, 1e-12 * Largest(r.forces));
    EXPECT_NEAR(r.atom_virial[9 + k], r.virial[k] / 2, 1e-12 * Largest(r.forces));
    // The force on atom 2 is -dE/dr_12.
    EXPECT_NEAR(r.virial[k], -r.forces[3 + k / 3] * pair.position[3 + k % 3], 1e-12 * Largest(r.forces));
  }
}

TEST(ComputeCellTest, AtomVirialsAddUp) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    const TestModel model({GoldenPotential(golden)});
    const TestResult r = ComputeCell(model, golden.structure);
    ASSERT_EQ(r.code, RUTILE_OK) << r.error;
    for (int k = 0; k < 9; ++k) {
      double sum = 0, largest = 1;
      for (size_t i = k; i < r.atom_virial.size(); i += 9) {
        sum += r.atom_virial[i];
        largest = std::max(largest, std::abs(r.atom_virial[i]));
      }
      EXPECT_NEAR(sum, r.virial[k], 1e-12 * largest * golden.structure.size()) << name << " " << k;
    }
  }
}

// Programs compiled before atom_virial was there pass a shorter struct.
TEST(ComputeCellTest, OlderOutputsAreKnown) {
  const TestModel model({SmallTiO2Potential(1)});
  double energy = 0, never_written = 7;
  rutile_outputs outputs = {};
  outputs.struct_size = offsetof(rutile_outputs, atom_virial);
  outputs.energy = &energy;
  outputs.atom_virial = &never_written;
  const int species[1] = {0};
  const double position[3] = {0, 0, 0};
  EXPECT_EQ(rutile_compute_cell(model.context(), 1, species, position, nullptr, nullptr, &outputs), RUTILE_OK);
  EXPECT_NE(energy, 0);
  EXPECT_EQ(never_written, 7);
}

TEST(ComputeCellTest, CommitteeIsTheMeanOfItsMembers) {
  const std::vector<Potential> members = {SmallTiO2Potential(4), SmallTiO2Potential(5)};
  const Structure structure = ReadGoldenCase("tio2_columbite_12atoms").structure;
  const TestModel committee(members);
  const TestResult r = ComputeCell(committee, structure);
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  std::vector<TestResult> alone;
  for (const Potential& member : members) alone.push_back(ComputeCell(TestModel({member}), structure));
  for (int m = 0; m < 2; ++m) {
    EXPECT_NEAR(r.member_energy[m], alone[m].energy, 1e-12 * std::abs(r.energy));
    for (size_t c = 0; c < r.forces.size(); ++c) {
      EXPECT_NEAR(r.member_forces[m * r.forces.size() + c], alone[m].forces[c], 1e-12);
    }
  }
  EXPECT_NEAR(r.energy, (alone[0].energy + alone[1].energy) / 2, 1e-12 * std::abs(r.energy));
  // Of two numbers, the deviation is half the difference.
  EXPECT_NEAR(r.energy_spread, std::abs(alone[0].energy - alone[1].energy) / 2, 1e-11);
  for (size_t i = 0; i < r.force_spread.size(); ++i) {
    double square = 0;
    for (size_t c = 3 * i; c < 3 * i + 3; ++c) square += std::pow((alone[0].forces[c] - alone[1].forces[c]) / 2, 2);
    EXPECT_NEAR(r.force_spread[i], std::sqrt(square), 1e-11);
  }
}

TEST(ComputeCellTest, MarksAtomsOutsideTheTrainingRange) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  Potential potential = GoldenPotential(golden);
  const int features = golden.descriptor.num_features();
  FeatureStatistics statistics(FeatureScalingKind::kPooled, 2, features);
  for (size_t i = 0; i < golden.species.size(); ++i) {
    statistics.Add(golden.species[i], absl::MakeConstSpan(golden.features).subspan(i * features, features));
  }
  potential.feature_range = statistics.Range();
  EXPECT_THAT(ComputeCell(TestModel({potential}), golden.structure).outside, Each(0));
  potential.feature_range.max[golden.species[0] * features] = golden.features[0] - 0.1;
  const TestModel model({potential});
  EXPECT_EQ(ComputeCell(model, golden.structure).outside[0], 1);
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(model.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.has_training_range, 1);
}

TEST(ComputeCellTest, MarksAtomsTooNearForTheDescriptor) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  Potential potential = GoldenPotential(golden);
  potential.feature_range.min.assign(2 * golden.descriptor.num_features(), -1e9);
  potential.feature_range.max.assign(2 * golden.descriptor.num_features(), 1e9);
  Structure structure = golden.structure;
  EXPECT_THAT(ComputeCell(TestModel({potential}), structure).outside, Each(0));
  // Atom 5 moves next to atom 2.
  for (int a = 0; a < 3; ++a) structure.position[3 * 5 + a] = structure.position[3 * 2 + a] + (a == 1 ? 0.3 : 0);
  const std::vector<unsigned char> outside = ComputeCell(TestModel({potential}), structure).outside;
  for (int i = 0; i < 12; ++i) EXPECT_EQ(outside[i], i == 2 || i == 5) << i;
}

TEST(ComputeCellTest, NoAtomsHaveNoEnergy) {
  const TestModel model({SmallTiO2Potential(1)});
  Structure none;
  none.cell = {5, 0, 0, 0, 5, 0, 0, 0, 5};
  none.pbc = {true, true, true};
  const TestResult r = ComputeCell(model, none);
  EXPECT_EQ(r.code, RUTILE_OK) << r.error;
  EXPECT_EQ(r.energy, 0);
  EXPECT_THAT(r.virial, Each(0));
}

}  // namespace
}  // namespace rutile
