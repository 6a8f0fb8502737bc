#include "lib/potential/data/atomic_labels.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/file/file.h"
#include "lib/potential/data/atomic_data.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A crystal with all labels, a molecule without forces and an atom without labels.
constexpr char kFrames[] =
    "2\n"
    "Lattice=\"3 0 0 0 3 0 0 0 3\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-10 "
    "stress=\"1 0 0 0 2 0 0 0 3\"\n"
    "O 0 0 0 0.5 0 0\n"
    "Ti 1.5 1.5 1.6 -0.5 0 0\n"
    "2\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3 energy=-3\n"
    "O 0 0 0\n"
    "O 1.2 0 0\n"
    "1\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3\n"
    "Ti 1 2 3\n";

AtomicData Data() {
  const std::string path = ::testing::TempDir() + "/labels.extxyz";
  EXPECT_TRUE(WriteFileAtomically(path, kFrames).ok());
  AtomicDataOptions options;
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8};
  options.descriptor = descriptor;
  auto data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *data;
}

TEST(AtomicLabelsTest, AreThoseOfTheData) {
  const AtomicLabels labels = LabelsOf(Data());
  EXPECT_EQ(labels.energy[0], -10);
  EXPECT_EQ(labels.energy[1], -3);
  EXPECT_TRUE(std::isnan(labels.energy[2]));
  EXPECT_THAT(labels.force_offset, ElementsAre(0, 6, 6, 6));
  EXPECT_THAT(labels.force_of(0), ElementsAre(0.5, 0, 0, -0.5, 0, 0));
  EXPECT_THAT(labels.force_of(2), IsEmpty());
  EXPECT_THAT(labels.stress[4], 2);
  EXPECT_EQ(labels.stress.size(), 27u);
}

TEST(AtomicLabelsTest, TakeThePlaceOfTheDatas) {
  const AtomicData data = Data();
  AtomicLabels labels = LabelsOf(data);
  labels.energy = {1, 2, 3};
  labels.force[3] = 7;
  labels.stress[8] = 9;
  AtomicData changed = data.WithLabels(labels);
  ASSERT_TRUE(changed.CacheNeighbors(false, "", 1 << 20, 1).ok());  // a copy keeps them
  EXPECT_EQ(changed.energy(0), 1);
  EXPECT_EQ(changed.energy(1), 2);
  EXPECT_FALSE(changed.has_energy(2));
  EXPECT_THAT(changed.force(0), ElementsAre(0.5, 0, 0, 7, 0, 0));
  EXPECT_THAT(changed.force(1), IsEmpty());
  EXPECT_THAT(changed.stress(0), ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, 9));
  EXPECT_THAT(changed.stress(1), IsEmpty());
  EXPECT_EQ(changed.name(1), data.name(1));
  EXPECT_EQ(data.energy(0), -10);
  EXPECT_EQ(data.force(0)[3], -0.5);
}

}  // namespace
}  // namespace rutile
