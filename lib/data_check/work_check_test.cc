#include "lib/data_check/work_check.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Two atoms on harmonic springs to their sites in a cubic cell whose own energy is elastic: everything is known in
// closed form, and the trapezoidal rule is exact for the springs.
constexpr double kSpring = 5;     // eV/Angstrom^2
constexpr double kModulus = 0.8;  // eV/Angstrom^3
constexpr double kLength = 4;     // Angstrom
constexpr double kVolume = kLength * kLength * kLength;

struct Units {
  double energy = 1, force = 1, stress = 1;  // factors of what is written
};

Structure Rattled(std::mt19937* random, double strain, const Units& units) {
  std::normal_distribution<double> normal(0, 0.08);
  Structure s;
  s.element = {22, 8};
  s.pbc = {true, true, true};
  const double length = kLength * (1 + strain);
  s.cell = {length, 0, 0, 0, length, 0, 0, 0, length};
  s.position = {0, 0, 0, length / 2, length / 2, length / 2};
  // E = k/2 sum u^2 + V0 K/2 (3 e)^2 in fixed springs; its stress is K tr(e) V0 / V.
  double energy = -800 + kVolume * kModulus / 2 * 9 * strain * strain;
  for (int c = 0; c < 6; ++c) {
    const double u = normal(*random);
    s.position[c] += u;
    energy += kSpring / 2 * u * u;
    s.force.push_back(-kSpring * u * units.force);
  }
  s.energy = energy * units.energy;
  const double stress = kModulus * 3 * strain / std::pow(1 + strain, 3) * units.stress;
  s.stress = Matrix3{stress, 0, 0, 0, stress, 0, 0, 0, stress};
  return s;
}

WorkCheck Check(const Units& units, int frames = 20) {
  std::mt19937 random(1);
  WorkCheck check;
  for (int i = 0; i < frames; ++i) check.Add(Rattled(&random, 0, units));
  for (int i = 0; i < frames; ++i) check.Add(Rattled(&random, 0.005 * (i % 7 - 3), units));
  return check;
}

double ForceSlope(const Units& units) {
  const auto slope = Check(units).ForceSlope();
  EXPECT_TRUE(slope.has_value() && slope->is_certain());
  return slope->value;
}

double StressSlope(const Units& units) {
  const auto slope = Check(units).StressSlope();
  EXPECT_TRUE(slope.has_value() && slope->is_certain());
  return slope->value;
}

TEST(WorkCheckTest, ConsistentDataHasSlopeOne) {
  EXPECT_NEAR(ForceSlope({}), 1, 1e-9);
  EXPECT_NEAR(StressSlope({}), 1, 0.1);  // springs that a strain stretches are of third order
  EXPECT_EQ(ExplainForceSlope(1.1), "");
  EXPECT_EQ(ExplainStressSlope(0.9), "");
}

TEST(WorkCheckTest, UnitsOfForcesAreTold) {
  EXPECT_THAT(ExplainForceSlope(ForceSlope({1, -1, 1})), HasSubstr("wrong sign"));
  EXPECT_THAT(ExplainForceSlope(ForceSlope({1, 1 / 27.2114, 1})), HasSubstr("Hartree/Angstrom"));
  EXPECT_THAT(ExplainForceSlope(ForceSlope({1, 1 / 51.4221, 1})), HasSubstr("Hartree/Bohr"));
  EXPECT_THAT(ExplainForceSlope(ForceSlope({1 / 27.2114, 1, 1})), HasSubstr("energies in Hartree"));
  EXPECT_THAT(ExplainForceSlope(ForceSlope({23.0605, -1, 1})),
              ::testing::AllOf(HasSubstr("kcal/mol"), HasSubstr("wrong sign")));
  EXPECT_THAT(ExplainForceSlope(ForceSlope({1, 0.001, 1})), HasSubstr("no unit"));
  EXPECT_THAT(ExplainForceSlope(0.5277), HasSubstr("lengths in Bohr"));
}

TEST(WorkCheckTest, UnitsAndSignOfStressesAreTold) {
  EXPECT_THAT(ExplainStressSlope(StressSlope({1, 1, -1602.1766})),
              ::testing::AllOf(HasSubstr("kbar"), HasSubstr("VASP")));
  EXPECT_THAT(ExplainStressSlope(StressSlope({1, 1, 160.21766})), HasSubstr("GPa"));
  EXPECT_THAT(ExplainStressSlope(StressSlope({1, 1, -1})), HasSubstr("sign of pressures"));
}

TEST(WorkCheckTest, FewOrDifferentStructuresTellNothing) {
  WorkCheck none;
  EXPECT_FALSE(none.ForceSlope().has_value());
  EXPECT_FALSE(Check({}, 2).ForceSlope()->is_certain());
  std::mt19937 random(1);
  Structure a = Rattled(&random, 0, {}), b = a;
  b.element = {8, 22};
  none.Add(a);
  none.Add(b);
  EXPECT_FALSE(none.ForceSlope().has_value()) << "other atoms";
  b = a;
  b.position[0] += 1;
  none.Add(b);
  EXPECT_FALSE(none.ForceSlope().has_value()) << "too far";
  b = a;
  b.cell[0] *= 1.2;
  none.Add(b);
  EXPECT_FALSE(none.ForceSlope().has_value()) << "another cell";
  b = a;
  b.force.clear();
  none.Add(b);
  b = a;
  b.energy.reset();
  none.Add(b);
  EXPECT_FALSE(none.ForceSlope().has_value()) << "no labels";
}

// A structure may be written in other images of its atoms.
TEST(WorkCheckTest, ImagesDoNotMatter) {
  std::mt19937 random(2);
  WorkCheck check;
  for (int i = 0; i < 10; ++i) {
    Structure s = Rattled(&random, 0, {});
    s.position[0] += kLength * (i % 3);
    check.Add(s);
  }
  EXPECT_NEAR(check.ForceSlope()->value, 1, 1e-9);
}

TEST(WorkCheckTest, AnOutlierDoesNotMatter) {
  std::mt19937 random(3);
  WorkCheck check;
  for (int i = 0; i < 30; ++i) {
    Structure s = Rattled(&random, 0, {});
    if (i == 15) *s.energy += 1000;
    check.Add(s);
  }
  EXPECT_NEAR(check.ForceSlope()->value, 1, 1e-9);
}

}  // namespace
}  // namespace rutile
