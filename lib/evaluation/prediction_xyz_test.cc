#include "lib/evaluation/prediction_xyz.h"

#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Structure Dimer() {
  Structure s;
  s.name = "some file.extxyz#12";
  s.element = {22, 8};
  s.position = {0, 0, 1.0 / 3, 1e-20, 1, 2};
  s.cell = {4, 0, 0, 0.1, 5, 0, 0, 0, 6};
  s.pbc = {true, true, true};
  s.info = {{"config_type", "rutile"}};
  return s;
}

StructurePrediction OfDimer() {
  StructurePrediction p;
  p.num_atoms = 2;
  p.predicted_energy = -2.0 / 3;
  p.atom_energy = {-0.5, -1.0 / 6};
  p.predicted_force = {0, 0, 1.0 / 7, 0, 0, -1.0 / 7};
  p.predicted_stress = std::array<double, 9>{0.1, 1.0 / 9, 0, 1.0 / 9, 0.3, 0, 0, 0, -0.2};
  return p;
}

std::vector<Structure> ReadBack(const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/prediction_xyz.extxyz");
  std::ofstream(path) << text;
  auto reader = StructureReader::Open(path, {});
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<Structure> structures(1);
  absl::StatusOr<bool> more = (*reader)->Next(&structures.back());
  for (; more.ok() && *more; more = (*reader)->Next(&structures.back())) structures.emplace_back();
  EXPECT_TRUE(more.ok()) << more.status();
  structures.pop_back();
  return structures;
}

TEST(PredictionXyzTest, PredictionsAreTheLabelsOfStructuresWithout) {
  std::string text;
  EXPECT_TRUE(AppendPredictionXyz(Dimer(), OfDimer(), {}, 12, &text));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Properties=species:S:1:pos:R:3:forces:R:3:energies:R:1 energy=-0.6666666666666666"),
                    HasSubstr("structure_name=\"some file.extxyz#12\" structure_number=12\n"), Not(HasSubstr("REF_")),
                    Not(HasSubstr("spread")), Not(HasSubstr("outside"))));
  const std::vector<Structure> read = ReadBack(text);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].element, Dimer().element);
  EXPECT_EQ(read[0].position, Dimer().position);
  EXPECT_EQ(read[0].cell, Dimer().cell);
  EXPECT_EQ(read[0].pbc, Dimer().pbc);
  EXPECT_EQ(read[0].energy, OfDimer().predicted_energy);
  EXPECT_EQ(read[0].force, OfDimer().predicted_force);
  EXPECT_EQ(read[0].stress, OfDimer().predicted_stress);
  EXPECT_EQ(read[0].info.at("config_type"), "rutile");
}

TEST(PredictionXyzTest, UncertaintyOfStructureAndAtoms) {
  StructurePrediction p = OfDimer();
  p.energy_std = 0.25;
  p.atom_energy_std = {0.125, 0.5};
  p.force_std = {1, 2, 3, 4, 5, 6};
  std::string text;
  EXPECT_TRUE(AppendPredictionXyz(Dimer(), p, {}, 0, &text));
  EXPECT_THAT(text, AllOf(HasSubstr(":energies_std:R:1:forces_std:R:3 energy="), HasSubstr(" energy_std=0.25 "),
                          HasSubstr(" 0.5 4 5 6\n")));
  EXPECT_EQ(ReadBack(text)[0].energy, p.predicted_energy);
}

TEST(PredictionXyzTest, ReferencesAreReadBeforePredictions) {
  Structure s = Dimer();
  s.energy = -1.0 / 11;
  s.force = {0, 0.125, 0, 0, -0.125, 0};
  s.stress = Matrix3{1, 0, 0, 0, 2, 0.1, 0, 0.1, 3};
  StructurePrediction p = OfDimer();
  p.energy_spread = 0.25;
  p.force_spread = {0.5, 1e-7};
  std::string text;
  const std::vector<uint8_t> outside = {0, 1};
  EXPECT_TRUE(AppendPredictionXyz(s, p, outside, 0, &text));
  EXPECT_THAT(text, AllOf(HasSubstr(":forces:R:3:energies:R:1:forces_spread:R:1:outside:I:1:REF_forces:R:3 "),
                          HasSubstr(" energy_spread=0.25 REF_energy=-0.09090909090909091 REF_stress=\"1 0 0 0 2 0.1 "),
                          HasSubstr(" -0.5 0.5 0 0 0.125 0\nO "), HasSubstr(" 1e-07 1 0 -0.125 0\n")));
  const std::vector<Structure> read = ReadBack(text);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].energy, s.energy);
  EXPECT_EQ(read[0].force, s.force);
  EXPECT_EQ(read[0].stress, s.stress);

  // A file of this kind, evaluated again, does not collect numbers and predictions of former times.
  std::string again;
  EXPECT_TRUE(AppendPredictionXyz(read[0], p, outside, 0, &again));
  const std::vector<Structure> twice = ReadBack(again);
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].energy, s.energy);
  EXPECT_EQ(again.find("structure_number"), again.rfind("structure_number"));
  EXPECT_EQ(again.find("energy_spread"), again.rfind("energy_spread"));
}

TEST(PredictionXyzTest, NothingIsLeftOfAnotherModel) {
  Structure s = Dimer();
  s.info = {{"config_type", "rutile"},
            {"energy_spread", "0.5"},
            {"energy_std", "0.25"},
            {"select_rank", "3"},
            {"select_score", "7"}};
  std::string text;
  EXPECT_TRUE(AppendPredictionXyz(s, OfDimer(), {}, 0, &text));
  EXPECT_THAT(text, AllOf(HasSubstr(" config_type=rutile "), Not(HasSubstr("energy_spread")),
                          Not(HasSubstr("energy_std")), Not(HasSubstr("select_"))));
  StructurePrediction p = OfDimer();
  p.energy_std = 0.125;
  text.clear();
  EXPECT_TRUE(AppendPredictionXyz(s, p, {}, 0, &text));
  EXPECT_THAT(text, AllOf(HasSubstr(" energy_std=0.125 "), Not(HasSubstr("energy_spread"))));
  EXPECT_EQ(text.find("energy_std"), text.rfind("energy_std"));
}

TEST(PredictionXyzTest, WhatIsNotFiniteIsLeftOut) {
  Structure s = Dimer();
  s.energy = -1;
  std::string text;
  StructurePrediction p = OfDimer();
  p.predicted_energy = kInfinity;
  EXPECT_FALSE(AppendPredictionXyz(s, p, {}, 0, &text));
  p = OfDimer();
  p.predicted_force[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(AppendPredictionXyz(s, p, {}, 1, &text));
  p = OfDimer();
  (*p.predicted_stress)[8] = -kInfinity;
  EXPECT_FALSE(AppendPredictionXyz(s, p, {}, 2, &text));
  p = OfDimer();
  p.energy_spread = kInfinity;
  EXPECT_FALSE(AppendPredictionXyz(s, p, {}, 3, &text));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  const std::vector<Structure> read = ReadBack(text);
  ASSERT_EQ(read.size(), 4u);
  for (const Structure& r : read) EXPECT_EQ(r.energy, s.energy);
  EXPECT_EQ(read[0].force, OfDimer().predicted_force);
  EXPECT_TRUE(read[1].force.empty());
  EXPECT_FALSE(read[2].stress.has_value());
}

TEST(PredictionXyzTest, EnergiesAlone) {
  StructurePrediction p = OfDimer();
  p.predicted_force.clear();
  p.predicted_stress.reset();
  std::string text;
  EXPECT_TRUE(AppendPredictionXyz(Dimer(), p, {}, 0, &text));
  EXPECT_THAT(text,
              AllOf(HasSubstr("pos:R:3:energies:R:1 energy="), Not(HasSubstr("forces")), Not(HasSubstr("stress"))));
}

}  // namespace
}  // namespace rutile
