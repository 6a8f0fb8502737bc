#include "lib/structure/label_filter.h"

#include <limits>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LabelFilterTest, LeavesOutWhatIsAboveALimit) {
  LabelFilter filter(-2, 3, /*less_atomic_energies=*/true);
  EXPECT_FALSE(filter.LeavesOut(-2.0, {3.0, -3.0, 0.0}));
  EXPECT_TRUE(filter.LeavesOut(-1.0, {}));
  EXPECT_TRUE(filter.LeavesOut(-5.0, {0.0, -4.0, 0.0}));
  EXPECT_FALSE(filter.LeavesOut(std::nullopt, {}));
  EXPECT_THAT(filter.Describe(),
              AllOf(HasSubstr("--max_energy=-2"), HasSubstr("less the atomic energies"),
                    HasSubstr("-5.0000 to -1.0000"), HasSubstr("--max_forces=3"), HasSubstr("3.0000 to 4.0000")));
}

TEST(LabelFilterTest, MinusInfinityIsALimit) {
  LabelFilter filter(-kInfinity, kInfinity, /*less_atomic_energies=*/false);
  EXPECT_TRUE(filter.LeavesOut(-1e30, {1.0}));
  EXPECT_THAT(filter.Describe(),
              AllOf(HasSubstr("--max_energy=-inf"), HasSubstr("as given"), Not(HasSubstr("max_forces"))));
}

TEST(LabelFilterTest, NamesOnlyTheLimitsThereAre) {
  LabelFilter filter(kInfinity, 0, /*less_atomic_energies=*/false);
  EXPECT_TRUE(filter.LeavesOut(1e30, {0.5}));
  EXPECT_FALSE(filter.LeavesOut(1e30, {0.0}));
  EXPECT_THAT(filter.Describe(), AllOf(HasSubstr("--max_forces=0"), Not(HasSubstr("max_energy"))));
  EXPECT_EQ(LabelFilter(kInfinity, kInfinity, false).Describe(), "");
}

}  // namespace
}  // namespace rutile
