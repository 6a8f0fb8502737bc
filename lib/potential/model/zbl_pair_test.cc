#include "lib/potential/model/zbl_pair.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Made by LAMMPS (29 Sep 2021), whose input zbl.in
//
//   units metal
//   atom_style atomic
//   atom_modify map array
//   boundary f f f
//   region box block -50 50 -50 50 -50 50
//   create_box 2 box
//   create_atoms 1 single 0 0 0
//   create_atoms 2 single ${r} 0 0
//   mass * 1
//   pair_style zbl ${inner} ${outer}
//   pair_coeff 1 1 ${zi} ${zi}
//   pair_coeff 2 2 ${zj} ${zj}
//   variable e equal pe
//   variable f equal fx[2]
//   thermo_style custom pe
//   run 0
//   variable es format e %.17g
//   variable fs format f %.17g
//   print "{${zi}, ${zj}, ${inner}, ${outer}, ${r}, ${es}, ${fs}},"
//
// runs once for each row: lmp -in zbl.in -var zi 6 -var zj 8 -var inner 0.8 -var outer 1.5 -var r 0.9
struct Row {
  int zi, zj;
  double inner, outer, r, energy, force;
};
constexpr Row kLammps[] = {
    {1, 1, 0.3, 0.6, 0.03, 408.95040084646462, 15752.18095630228},
    {1, 1, 0.3, 0.6, 0.18, 32.617350865457738, 345.34224530962518},
    {1, 1, 0.3, 0.6, 0.36, 4.977909415881248, 61.280450807031485},
    {1, 1, 0.3, 0.6, 0.48, 0.65979736070799422, 16.037507641025531},
    {1, 1, 0.3, 0.6, 0.57, 0.011046823578020781, 1.0956127204173036},
    {6, 8, 0.8, 1.5, 0.075, 5608.1398414841633, 106529.21201135046},
    {6, 8, 0.8, 1.5, 0.45, 189.0734696567032, 1109.7637071984536},
    {6, 8, 0.8, 1.5, 0.9, 17.594493532470551, 97.781853534877953},
    {6, 8, 0.8, 1.5, 1.2, 2.0382280184074508, 20.438831650438409},
    {6, 8, 0.8, 1.5, 1.425, 0.032356979809983422, 1.2894733560495126},
    {22, 8, 1, 2.1, 0.105, 11450.727957443858, 175054.1461488551},
    {22, 8, 1, 2.1, 0.63, 213.11535713602458, 1050.3699295163738},
    {22, 8, 1, 2.1, 1.26, 13.602608791827375, 60.663654419585932},
    {22, 8, 1, 2.1, 1.68, 1.3309609467155652, 9.9569892322551929},
    {22, 8, 1, 2.1, 1.995, 0.019427204475891635, 0.5572831898660171},
    {74, 74, 4, 4.8, 0.24, 48100.045360535798, 488307.32675467827},
    {74, 74, 4, 4.8, 1.44, 74.46683115984608, 269.51005470829153},
    {74, 74, 4, 4.8, 2.88, 0.9739276851253621, 2.6658620366811321},
    {74, 74, 4, 4.8, 3.84, 0.06329810498912028, 0.20499589654612205},
    {74, 74, 4, 4.8, 4.56, 0.0010760137335708592, 0.013196138750431064},
    {6, 1, 0.5, 1.07, 0.0535, 1185.1435352339195, 28379.234689176868},
    {6, 1, 0.5, 1.07, 0.321, 63.652262554752717, 447.04871662919146},
    {6, 1, 0.5, 1.07, 0.642, 7.3598750479316788, 55.419307723545714},
    {6, 1, 0.5, 1.07, 0.856, 0.8784919428661484, 12.302183042589752},
    {6, 1, 0.5, 1.07, 1.0165, 0.013991192944404762, 0.78171494839184608},
};

TEST(ZblPairTest, IsTheFunctionOfLammps) {
  for (const Row& row : kLammps) {
    const ZblPair::Value value = ZblPair(row.zi, row.zj, row.inner, row.outer).At(row.r);
    // Near the outer radius terms cancel, of the size of the energy farther in.
    EXPECT_NEAR(value.energy, row.energy, 1e-12 * std::max(1.0, row.energy)) << row.zi << " " << row.r;
    EXPECT_NEAR(-value.slope, row.force, 1e-12 * std::max(1.0, row.force)) << row.zi << " " << row.r;
  }
}

TEST(ZblPairTest, SlopeIsAFiniteDifference) {
  const ZblPair pair(22, 8, 0.9, 1.8);
  for (const double r : {0.1, 0.3, 0.7, 0.899, 0.901, 1.2, 1.5, 1.79, 1.9}) {
    constexpr double kStep = 1e-5;
    const double difference = (pair.At(r + kStep).energy - pair.At(r - kStep).energy) / (2 * kStep);
    EXPECT_NEAR(pair.At(r).slope, difference, 1e-7 * std::max(1.0, std::abs(difference))) << r;
  }
}

// Energy, slope and curvature vanish there, so the energy falls as the third power of the distance from it.
TEST(ZblPairTest, EndsSmoothly) {
  const ZblPair pair(6, 6, 0.7, 1.4);
  EXPECT_EQ(pair.At(1.4).energy, 0);
  EXPECT_EQ(pair.At(1.4).slope, 0);
  EXPECT_EQ(pair.At(5).energy, 0);
  const double e1 = pair.At(1.4 - 1e-2).energy, e2 = pair.At(1.4 - 2e-2).energy;
  EXPECT_GT(e1, 0);
  EXPECT_NEAR(e2 / e1, 8, 0.3);
  EXPECT_NEAR(pair.At(1.4 - 2e-2).slope / pair.At(1.4 - 1e-2).slope, 4, 0.2);
}

// Between nuclei that nearly touch, the electrons screen nothing.
TEST(ZblPairTest, BecomesTheBareRepulsion) {
  const double r = 1e-5;
  EXPECT_NEAR(ZblPair(8, 8, 0.5, 1).At(r).energy * r / (14.399645 * 64), 1, 2e-3);
}

TEST(ZblPairTest, FallsAllTheWay) {
  const ZblPair pair(1, 6, 0.5, 1.07);
  for (double r = 0.05; r < 1.07; r += 0.01) EXPECT_LT(pair.At(r).slope, 0) << r;
}

TEST(ZblPairDeathTest, NeedsTwoRadii) {
  EXPECT_DEATH(ZblPair(1, 1, 1, 1), "1 1");
  EXPECT_DEATH(ZblPair(1, 1, 0, 1), "0 1");
}

}  // namespace
}  // namespace rutile
