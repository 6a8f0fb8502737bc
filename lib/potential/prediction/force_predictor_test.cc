#include "lib/potential/prediction/force_predictor.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/potential/model/zbl_pair.h"
#include "lib/structure/cell.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AtomicPrediction Predict(ForcePredictor* predictor, const Structure& structure, const std::vector<uint8_t>& species,
                         bool forces = true) {
  NeighborList list;
  EXPECT_TRUE(NeighborSearch(predictor->cutoff()).Compute(structure, &list).ok());
  StructureGeometry geometry;
  geometry.species = species;
  geometry.position = structure.position;
  geometry.cell = structure.cell;
  geometry.pairs = {list.offset, list.j.data(), list.shift.data(), 0};
  AtomicPrediction prediction;
  predictor->Predict(geometry, structure.pbc, forces, &prediction);
  return prediction;
}

AtomicPrediction Predict(const Potential& potential, const Structure& structure, const std::vector<uint8_t>& species) {
  ForcePredictor predictor(absl::MakeConstSpan(&potential, 1));
  return Predict(&predictor, structure, species);
}

// Applies r -> (1 + strain) r to atoms and cell, whose rows are vectors.
Structure Strained(Structure structure, int a, int b, double strain) {
  for (size_t i = 0; i < structure.position.size(); i += 3) {
    structure.position[i + a] += strain * structure.position[i + b];
  }
  for (int row = 0; row < 3; ++row) structure.cell[3 * row + a] += strain * structure.cell[3 * row + b];
  return structure;
}

TEST(ForcePredictorTest, MatchesGoldenForces) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    const Potential potential = GoldenPotential(golden);
    const AtomicPrediction p = Predict(potential, golden.structure, golden.species);
    EXPECT_NEAR(p.energy, golden.energy, 1e-10 * std::max(1.0, std::abs(golden.energy))) << name;
    ASSERT_EQ(p.force.size(), golden.force.size()) << name;
    for (size_t c = 0; c < p.force.size(); ++c) {
      EXPECT_NEAR(p.force[c], golden.force[c], 1e-10 * std::max(1.0, std::abs(golden.force[c]))) << name << " " << c;
    }
    EXPECT_THAT(p.force_spread, IsEmpty());
    EXPECT_THAT(p.outside, IsEmpty());

    const AtomicPrediction single = Predict(WithPrecision(potential, DType::kF32), golden.structure, golden.species);
    double largest = 1;
    for (const double f : golden.force) largest = std::max(largest, std::abs(f));
    for (size_t c = 0; c < p.force.size(); ++c) {
      EXPECT_NEAR(single.force[c], golden.force[c], 2e-4 * largest) << name << " fp32 " << c;
    }
  }
}

TEST(ForcePredictorTest, ForcesAndStressAreFiniteDifferences) {
  for (const char* name : {"triclinic_4atoms", "fcc_cu_primitive_1atom", "tio2_rutile_multi_image"}) {
    const GoldenCase golden = ReadGoldenCase(name);
    Potential potential = GoldenPotential(golden);
    potential.energy_scaling = {0.5, -1};
    const AtomicPrediction p = Predict(potential, golden.structure, golden.species);
    ASSERT_TRUE(p.stress.has_value()) << name;
    const double volume = CellVolume(golden.structure.cell);
    const auto energy = [&](const Structure& s) { return Predict(potential, s, golden.species).energy; };
    constexpr double kStep = 2e-5;
    for (int c = 0; c < 3; ++c) {
      Structure moved = golden.structure;
      moved.position[c] += kStep;
      const double above = energy(moved);
      moved.position[c] -= 2 * kStep;
      EXPECT_NEAR(p.force[c], -(above - energy(moved)) / (2 * kStep), 1e-6) << name << " force " << c;
    }
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        const double difference =
            energy(Strained(golden.structure, a, b, kStep)) - energy(Strained(golden.structure, a, b, -kStep));
        EXPECT_NEAR((*p.stress)[3 * a + b] * volume, difference / (2 * kStep), 1e-5) << name << " stress " << a << b;
        EXPECT_EQ((*p.stress)[3 * a + b], (*p.stress)[3 * b + a]) << name;
      }
    }
  }
}

TEST(ForcePredictorTest, StressOnlyWhereThereIsAVolume) {
  for (const char* name : {"water_isolated", "slab_pbc_TTF", "single_atom_isolated"}) {
    const GoldenCase golden = ReadGoldenCase(name);
    const AtomicPrediction p = Predict(GoldenPotential(golden), golden.structure, golden.species);
    EXPECT_FALSE(p.stress.has_value()) << name;
    EXPECT_THAT(p.force, SizeIs(golden.force.size())) << name;
  }
}

TEST(ForcePredictorTest, EnergiesAloneAreTheSame) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  const Potential potential = GoldenPotential(golden);
  ForcePredictor predictor(absl::MakeConstSpan(&potential, 1));
  const AtomicPrediction with = Predict(&predictor, golden.structure, golden.species);
  const AtomicPrediction without = Predict(&predictor, golden.structure, golden.species, false);
  EXPECT_EQ(without.energy, with.energy);
  EXPECT_EQ(without.atom_energy, with.atom_energy);
  EXPECT_THAT(without.force, IsEmpty());
  EXPECT_FALSE(without.stress.has_value());
  AtomicPrediction from_features;
  predictor.PredictFromFeatures(golden.features, golden.species, &from_features);
  EXPECT_NEAR(from_features.energy, with.energy, 1e-9);
}

TEST(ForcePredictorTest, CommitteeIsTheMeanOfItsMembers) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  std::vector<Potential> members(3, GoldenPotential(golden));
  for (int m = 0; m < 3; ++m) {
    std::vector<double> values = members[m].parameters.ToDoubles();
    for (double& w : values) w *= 1 + 0.05 * m;
    members[m].parameters = Tensor::Of(values);
  }
  std::vector<AtomicPrediction> alone;
  for (const Potential& member : members) alone.push_back(Predict(member, golden.structure, golden.species));
  ForcePredictor committee(members);
  const AtomicPrediction p = Predict(&committee, golden.structure, golden.species);

  double mean = 0, square = 0;
  for (const AtomicPrediction& a : alone) mean += a.energy / 3;
  for (const AtomicPrediction& a : alone) square += (a.energy - mean) * (a.energy - mean) / 3;
  EXPECT_NEAR(p.energy, mean, 1e-10);
  EXPECT_NEAR(p.energy_spread, std::sqrt(square), 1e-10);
  for (size_t i = 0; i < golden.species.size(); ++i) {
    double variance = 0;
    for (int a = 0; a < 3; ++a) {
      const size_t c = 3 * i + a;
      const double f = (alone[0].force[c] + alone[1].force[c] + alone[2].force[c]) / 3;
      EXPECT_NEAR(p.force[c], f, 1e-10);
      for (const AtomicPrediction& m : alone) variance += (m.force[c] - f) * (m.force[c] - f) / 3;
    }
    EXPECT_NEAR(p.force_spread[i], std::sqrt(variance), 1e-10);
    EXPECT_NEAR(p.atom_energy[i], (alone[0].atom_energy[i] + alone[1].atom_energy[i] + alone[2].atom_energy[i]) / 3,
                1e-10);
  }
  for (int k = 0; k < 9; ++k) {
    EXPECT_NEAR((*p.stress)[k], ((*alone[0].stress)[k] + (*alone[1].stress)[k] + (*alone[2].stress)[k]) / 3, 1e-12);
  }
}

TEST(ForcePredictorTest, OneMemberInDoublePrecisionDecides) {
  std::vector<Potential> members(2, WithPrecision(SmallTiO2Potential(1), DType::kF32));
  EXPECT_EQ(CommitteePrecision(members), DType::kF32);
  members[1] = SmallTiO2Potential(2);
  EXPECT_EQ(CommitteePrecision(members), DType::kF64);
}

TEST(ForcePredictorTest, MembersNeedOneDescriptor) {
  std::vector<Potential> members = {SmallTiO2Potential(1), SmallTiO2Potential(2)};
  EXPECT_TRUE(CheckCommittee(members, {"a", "b"}).ok());
  members[1].descriptor.chebyshev().rad_cutoff = 5;
  EXPECT_THAT(std::string(CheckCommittee(members, {"a", "b"}).message()), HasSubstr("b: has the descriptor"));
}

TEST(ForcePredictorTest, MarksAtomsThatAnyMemberHasNotSeen) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  std::vector<Potential> members(2, GoldenPotential(golden));
  const int features = golden.descriptor.num_features();
  // The range of the first model contains these atoms exactly; that of the second excludes the first feature of atom 0.
  FeatureStatistics statistics(FeatureScalingKind::kPooled, 2, features);
  for (size_t i = 0; i < golden.species.size(); ++i) {
    statistics.Add(golden.species[i], absl::MakeConstSpan(golden.features).subspan(i * features, features));
  }
  members[0].feature_range = statistics.Range();
  ForcePredictor predictor(members);
  EXPECT_THAT(Predict(&predictor, golden.structure, golden.species).outside, ::testing::Each(0));
  members[1].feature_range = statistics.Range();
  members[1].feature_range.max[golden.species[0] * features] = golden.features[0] - 0.1;
  EXPECT_EQ(Predict(absl::MakeConstSpan(members)[1], golden.structure, golden.species).outside[0], 1);
  ForcePredictor both(members);
  EXPECT_EQ(Predict(&both, golden.structure, golden.species).outside[0], 1);
}

TEST(ForcePredictorTest, MarksAtomsThatTheDescriptorDoesNotSee) {
  // Atoms 0 and 1 are near each other through the boundary of the cell; atom 2 has no neighbor.
  Structure structure;
  structure.element = {22, 8, 8};
  structure.cell = {30, 0, 0, 0, 30, 0, 0, 0, 30};
  structure.pbc = {true, true, true};
  structure.position = {0.125, 0, 0, 29.675, 0, 0, 15, 15, 15};  // 0.45 Angstrom
  const auto marks = [&] {
    NeighborList list;
    EXPECT_TRUE(NeighborSearch(3, {/*shifts=*/true, /*vectors=*/false}).Compute(structure, &list).ok());
    StructureGeometry geometry;
    geometry.species = structure.element;
    geometry.position = structure.position;
    geometry.cell = structure.cell;
    geometry.pairs = {list.offset, list.j.data(), list.shift.data(), 0};
    std::vector<uint8_t> found(3);
    MarkAtomsTooNear(geometry, 0.55, absl::MakeSpan(found));
    return found;
  };
  EXPECT_THAT(marks(), ::testing::ElementsAre(1, 1, 0));
  structure.position[3] = 29.475;  // 0.65 Angstrom
  EXPECT_THAT(marks(), ::testing::Each(0));
}

// A model whose networks are 0: atomic energies and the repulsion are all that it predicts.
Potential RepulsionAlone(const std::vector<double>& inner, const std::vector<double>& outer) {
  Potential potential = SmallTiO2Potential(1);
  potential.parameters = Tensor::Zeros(DType::kF64, {potential.shape.num_parameters()});
  potential.repulsion = {inner, outer};
  return potential;
}

TEST(ForcePredictorTest, WithNetworksOfZeroPredictsTheRepulsion) {
  const Potential potential = RepulsionAlone({0.8, 0.8, 0.8, 0.8}, {1.6, 1.6, 1.6, 1.6});
  for (const double r : {0.3, 1.0, 1.7}) {
    Structure dimer;
    dimer.element = {22, 8};
    dimer.position = {0, 0, 0, r, 0, 0};
    const ZblPair::Value pair = ZblPair(22, 8, 0.8, 1.6).At(r);
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const AtomicPrediction p = Predict(WithPrecision(potential, dtype), dimer, {0, 1});
      EXPECT_DOUBLE_EQ(p.energy, -5 + pair.energy);
      EXPECT_DOUBLE_EQ(p.atom_energy[0], -3 + pair.energy / 2);
      EXPECT_DOUBLE_EQ(p.atom_energy[1], -2 + pair.energy / 2);
      EXPECT_DOUBLE_EQ(p.force[0], pair.slope);
      EXPECT_DOUBLE_EQ(p.force[3], -pair.slope);
    }
  }
}

TEST(ForcePredictorTest, WithARepulsionForcesAndStressAreFiniteDifferences) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  Potential potential = SmallTiO2Potential(1);
  const AtomicPrediction before = Predict(potential, golden.structure, golden.species);
  potential.repulsion = {{1, 1, 1, 1}, {3, 2.5, 2.5, 2.8}};
  const AtomicPrediction p = Predict(potential, golden.structure, golden.species);
  EXPECT_GT(p.energy, before.energy + 1);
  const auto energy = [&](const Structure& s) { return Predict(potential, s, golden.species).energy; };
  constexpr double kStep = 2e-5;
  for (int c = 0; c < 6; ++c) {
    Structure moved = golden.structure;
    moved.position[c] += kStep;
    const double above = energy(moved);
    moved.position[c] -= 2 * kStep;
    EXPECT_NEAR(p.force[c], -(above - energy(moved)) / (2 * kStep), 1e-6) << c;
  }
  for (const auto& [a, b] : {std::pair(0, 0), {1, 1}, {2, 2}, {0, 1}, {1, 2}}) {
    const double difference =
        energy(Strained(golden.structure, a, b, kStep)) - energy(Strained(golden.structure, a, b, -kStep));
    EXPECT_NEAR((*p.stress)[3 * a + b] * CellVolume(golden.structure.cell), difference / (2 * kStep), 1e-5) << a << b;
  }
}

TEST(ForcePredictorTest, EachMemberHasItsOwnRepulsion) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  std::vector<Potential> members = {SmallTiO2Potential(1), SmallTiO2Potential(2)};
  members[1].repulsion = {{1, 1, 1, 1}, {3, 2.5, 2.5, 2.8}};
  ForcePredictor committee(members);
  const AtomicPrediction p = Predict(&committee, golden.structure, golden.species);
  const std::vector<double> energies(committee.member_energies().begin(), committee.member_energies().end());
  for (int m = 0; m < 2; ++m) {
    const AtomicPrediction alone = Predict(members[m], golden.structure, golden.species);
    EXPECT_EQ(energies[m], alone.energy);
    std::vector<double> force(alone.force.size());
    committee.MemberForces(m, absl::MakeSpan(force));
    EXPECT_EQ(force, alone.force);
  }
  EXPECT_NEAR(p.energy, (energies[0] + energies[1]) / 2, 1e-12 * std::abs(p.energy));
}

TEST(ForcePredictorDeathTest, FeaturesDoNotGiveTheRepulsion) {
  const Potential potential = RepulsionAlone({0.8, 0.8, 0.8, 0.8}, {1.6, 1.6, 1.6, 1.6});
  ForcePredictor predictor(absl::MakeConstSpan(&potential, 1));
  EXPECT_TRUE(predictor.needs_geometry());
  AtomicPrediction prediction;
  const std::vector<double> features(potential.shape.num_features, 0.0);
  EXPECT_DEATH(predictor.PredictFromFeatures(features, std::vector<uint8_t>{0}, &prediction), "repulsion");
}

}  // namespace
}  // namespace rutile
