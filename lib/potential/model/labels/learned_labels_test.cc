#include "lib/potential/model/labels/learned_labels.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/file/file.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/potential/model/zbl_pair.h"

namespace rutile {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// A crystal of one atom that sees its six nearest images, a dimer, and an atom without labels.
constexpr char kFrames[] =
    "1\n"
    "Lattice=\"1.4 0 0 0 1.4 0 0 0 1.4\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-10 "
    "stress=\"1 0 0 0 2 0 0 0 3\"\n"
    "O 0 0 0 0.5 0 0\n"
    "2\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-3\n"
    "O 0 0 0 1 2 3\n"
    "Ti 1.2 0 0 -1 -2 -3\n"
    "1\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3\n"
    "Ti 1 2 3\n";

AtomicData Data() {
  const std::string path = ::testing::TempDir() + "/learned.extxyz";
  EXPECT_TRUE(WriteFileAtomically(path, kFrames).ok());
  AtomicDataOptions options;
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8};
  options.descriptor = descriptor;
  auto data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *data;
}

RepulsionRadii Radii() { return *RadiiOf({ZblOptions::Kind::kRadii, 0.8, 1.6}, Data().descriptor()); }

TEST(LearnedLabelsTest, AreWhatTheRepulsionLeaves) {
  const auto learned = LearnedLabels(Data(), Radii(), 1);
  ASSERT_TRUE(learned.ok()) << learned.status();
  // Six images make three pairs for each atom, two of them along each axis in dE/d(strain).
  const ZblPair::Value image = ZblPair(8, 8, 0.8, 1.6).At(1.4);
  EXPECT_NEAR(learned->energy(0), -10 - 3 * image.energy, 1e-12);
  EXPECT_NEAR(learned->force(0)[0], 0.5, 1e-12);
  const double stress = 1.4 * image.slope / (1.4 * 1.4 * 1.4);
  EXPECT_LT(stress, 0);  // it pushes the cell apart
  EXPECT_NEAR(learned->stress(0)[0], 1 - stress, 1e-12);
  EXPECT_NEAR(learned->stress(0)[4], 2 - stress, 1e-12);
  EXPECT_NEAR(learned->stress(0)[1], 0, 1e-12);

  const ZblPair::Value dimer = ZblPair(8, 22, 0.8, 1.6).At(1.2);
  EXPECT_NEAR(learned->energy(1), -3 - dimer.energy, 1e-12);
  EXPECT_NEAR(learned->force(1)[0], 1 - dimer.slope, 1e-12);
  EXPECT_NEAR(learned->force(1)[3], -1 + dimer.slope, 1e-12);
  EXPECT_EQ(learned->force(1)[4], -2);

  EXPECT_FALSE(learned->has_energy(2));
  EXPECT_THAT(learned->force(2), IsEmpty());
}

TEST(LearnedLabelsTest, AnyNumberOfThreadsAndCachedPairsGiveTheSame) {
  AtomicData cached = Data();
  ASSERT_TRUE(cached.CacheNeighbors(false, "", 1 << 20, 1).ok());
  const auto one = LearnedLabels(Data(), Radii(), 1), two = LearnedLabels(cached, Radii(), 2);
  ASSERT_TRUE(one.ok() && two.ok());
  for (int64_t s = 0; s < 2; ++s) {
    EXPECT_EQ(one->energy(s), two->energy(s));
    EXPECT_THAT(one->force(s), ElementsAreArray(two->force(s)));
    EXPECT_THAT(one->stress(s), ElementsAreArray(two->stress(s)));
  }
}

TEST(LearnedLabelsTest, WithoutARepulsionAreTheGivenOnes) {
  const auto learned = LearnedLabels(Data(), RepulsionRadii(), 1);
  ASSERT_TRUE(learned.ok());
  EXPECT_EQ(learned->energy(0), -10);
  EXPECT_EQ(learned->force(1)[5], -3);
}

}  // namespace
}  // namespace rutile
