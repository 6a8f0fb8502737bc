#include "lib/structure/extxyz/extxyz_writer.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/structure/read_text.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

void ExpectEqual(const Structure& a, const Structure& b) {
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.cell, b.cell);
  EXPECT_EQ(a.pbc, b.pbc);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.force, b.force);
  EXPECT_EQ(a.stress, b.stress);
  EXPECT_EQ(a.info, b.info);
}

TEST(ExtxyzWriterTest, ReadsBackBitForBit) {
  RandomStream random(7, "extxyz_writer_test");
  std::vector<Structure> structures;
  std::string text;
  for (int f = 0; f < 200; ++f) {
    Structure s;
    const auto number = [&] { return std::ldexp(random.Normal(), random.Below(f % 3 == 0 ? 600 : 6)); };
    for (int i = 0; i <= f % 7; ++i) {
      s.element.push_back(1 + random.Below(118));
      for (int k = 0; k < 3; ++k) s.position.push_back(number());
      for (int k = 0; k < 3 && f % 2 == 0; ++k) s.force.push_back(number() * 1e-250);
    }
    if (f % 4 != 0) {
      for (double& x : s.cell) x = 0.1 * random.Normal();
      for (int k = 0; k < 3; ++k) s.cell[4 * k] += 5;
      s.pbc = {true, f % 5 != 0, f % 3 != 0};
      const double xy = number();
      if (f % 2 == 0) s.stress = Matrix3{number(), xy, 0, xy, number(), 1, 0, 1, number()};
    }
    if (f % 3 != 0) s.energy = number();
    if (f % 2 == 0) s.info = {{"config_type", "rutile"}, {"note", "with \"quotes\", \\ and \n"}, {"two words", ""}};
    structures.push_back(s);
    AppendExtxyz(s, &text);
  }
  const std::vector<Structure> read = Frames(text);
  ASSERT_EQ(read.size(), structures.size());
  for (size_t f = 0; f < read.size(); ++f) ExpectEqual(read[f], structures[f]);
}

TEST(ExtxyzWriterTest, Form) {
  Structure s;
  s.element = {22, 8};
  s.position = {0, 0.1, -2, 1e-20, 1.0 / 3, 4};
  s.cell = {4, 0, 0, 0, 5, 0, 0, 0, 6};
  s.pbc = {true, true, false};
  s.energy = -1.5;
  s.info = {{"config_type", "rutile"}};
  std::string text;
  AppendExtxyz(s, &text);
  EXPECT_EQ(text,
            "2\nLattice=\"4 0 0 0 5 0 0 0 6\" Properties=species:S:1:pos:R:3 energy=-1.5 pbc=\"T T F\" "
            "config_type=rutile\nTi 0 0.1 -2\nO 1e-20 0.3333333333333333 4\n");
}

// A reader would prefer the other energy to the structure's own.
TEST(ExtxyzWriterTest, FurtherEnergiesAreLeftOut) {
  Structure s;
  s.element = {8};
  s.position = {0, 0, 0};
  s.energy = -1.5;
  s.info = {{"REF_energy", "-9"}, {"note", "a"}};
  std::string text;
  AppendExtxyz(s, &text);
  const std::vector<Structure> read = Frames(text);
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].energy, -1.5);
  EXPECT_EQ(read[0].info, (std::map<std::string, std::string>{{"note", "a"}}));
}

TEST(ExtxyzWriterTest, LabelsTakeThePlaceOfTheStructures) {
  Structure s;
  s.element = {22, 8};
  s.position = {0, 0, 0, 1, 2, 3};
  s.cell = {4, 0, 0, 0, 5, 0, 0, 0, 6};
  s.pbc = {true, true, true};
  s.energy = -1;
  s.force = {1, 1, 1, 1, 1, 1};
  s.info = {{"DFT_energy", "-9"},      {"REF_virial", "1"}, {"Stress", "2"},
            {"config_type", "rutile"}, {"name", "old"},     {"spread", "3"}};
  const std::vector<double> energy = {-1.5}, spread = {0.25, 0.5}, force = {0, 0, 0.1, 0, 0, -0.1}, flags = {0, 1};
  ExtxyzLabels labels;
  labels.values = {{"energy", energy}, {"spread", spread}};
  labels.columns = {{"forces", 'R', 3, force}, {"outside", 'I', 1, flags}};
  labels.texts = {{"name", "a b"}, {"number", "7"}};
  std::string text;
  AppendExtxyz(s, labels, &text);
  EXPECT_EQ(text,
            "2\nLattice=\"4 0 0 0 5 0 0 0 6\" Properties=species:S:1:pos:R:3:forces:R:3:outside:I:1 energy=-1.5 "
            "spread=\"0.25 0.5\" pbc=\"T T T\" config_type=rutile name=\"a b\" number=7\n"
            "Ti 0 0 0 0 0 0.1 0\nO 1 2 3 0 0 -0.1 1\n");
}

TEST(ExtxyzWriterDeathTest, LengthsMustAgree) {
  Structure s;
  s.element = {1};
  std::string text;
  EXPECT_DEATH(AppendExtxyz(s, &text), "position");
  s.position = {0, 0, 0};
  s.force = {0};
  EXPECT_DEATH(AppendExtxyz(s, &text), "1 force components");
  const std::vector<double> flags = {0, 1};
  ExtxyzLabels labels;
  labels.columns = {{"outside", 'I', 1, flags}};
  EXPECT_DEATH(AppendExtxyz(s, labels, &text), "outside");
}

}  // namespace
}  // namespace rutile
