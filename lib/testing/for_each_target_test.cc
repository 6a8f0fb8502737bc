#include "lib/testing/for_each_target.h"

#include <cstdint>
#include <set>

#include "gtest/gtest.h"
#include "lib/machine/simd.h"

namespace rutile {
namespace {

TEST(ForEachTargetTest, EachOnceAndThenAsBefore) {
  const int64_t before = hwy::SupportedTargets();
  std::set<int64_t> seen;
  ForEachTarget([&] {
    const int64_t target = hwy::SupportedTargets();
    EXPECT_EQ(target & (target - 1), 0) << "one at a time";
    EXPECT_TRUE(seen.insert(target).second) << hwy::TargetName(target);
  });
  EXPECT_EQ(seen.size(), hwy::SupportedAndGeneratedTargets().size());
  EXPECT_EQ(hwy::SupportedTargets(), before);
}

}  // namespace
}  // namespace rutile
