#include "lib/structure/key_conflicts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KeyConflictsTest, OneMessageForEachQuantityWithItsFrames) {
  KeyConflicts conflicts;
  EXPECT_THAT(conflicts.Messages("f", 3), IsEmpty());
  EXPECT_TRUE(conflicts.Count(KeyConflicts::kStress));
  conflicts.Describe(KeyConflicts::kStress, 9, "stress has xx=1", "Stress xx=2",
                     "--stress_key=Stress chooses the latter");
  EXPECT_TRUE(conflicts.Count(KeyConflicts::kEnergy));
  conflicts.Describe(KeyConflicts::kEnergy, 2, "energy=-1", "Energy=-2", "--energy_key=Energy chooses the latter");
  EXPECT_FALSE(conflicts.Count(KeyConflicts::kEnergy));
  EXPECT_THAT(conflicts.Messages("f", 3),
              ElementsAre("f:2: energy=-1, but Energy=-2, in 2 of 3 frames, this first; the former is used, "
                          "--energy_key=Energy chooses the latter",
                          "f:9: stress has xx=1, but Stress xx=2, in this one of 3 frames; the former is used, "
                          "--stress_key=Stress chooses the latter"));
}

TEST(KeyConflictsTest, NumbersWithFewerDigitsAreTheSame) {
  EXPECT_TRUE(SameNumber(-1234.567891, -1234.56789));
  EXPECT_FALSE(SameNumber(-1234.567891, -1234.568));
  EXPECT_TRUE(SameNumber(0, 0));
}

TEST(KeyConflictsTest, TensorsDifferByComponents) {
  const Matrix3 a = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Matrix3 b = a;
  EXPECT_EQ(DifferingComponent(a, b), -1);
  b[8] = 1.0005;  // a thousandth of the largest
  EXPECT_EQ(DifferingComponent(a, b), -1);
  b[8] = -1;
  EXPECT_EQ(ComponentName(DifferingComponent(a, b)), "zz");
  b[5] = 0.1;
  EXPECT_EQ(ComponentName(DifferingComponent(a, b)), "yz");
  // Both vanish, as printed.
  EXPECT_EQ(DifferingComponent({1e-6, 0, 0, 0, 0, 0, 0, 0, 0}, {-2e-6, 0, 0, 0, 0, 0, 0, 0, 0}), -1);
}

}  // namespace
}  // namespace rutile
