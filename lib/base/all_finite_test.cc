#include "lib/base/all_finite.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

template <typename T>
void CheckEverywhere() {
  using Limits = std::numeric_limits<T>;
  for (size_t size = 0; size < 40; ++size) {
    std::vector<T> values(size, Limits::max());
    EXPECT_TRUE(AllFinite(absl::MakeConstSpan(values)));
    for (size_t i = 0; i < size; ++i) {
      for (const T bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
        values[i] = bad;
        EXPECT_FALSE(AllFinite(absl::MakeConstSpan(values))) << size << " " << i;
      }
      values[i] = i % 2 == 0 ? Limits::denorm_min() : -Limits::max();
    }
    EXPECT_TRUE(AllFinite(absl::MakeConstSpan(values)));
  }
}

TEST(AllFiniteTest, FindsWhatIsNotFiniteAnywhere) {
  CheckEverywhere<float>();
  CheckEverywhere<double>();
}

}  // namespace
}  // namespace rutile
