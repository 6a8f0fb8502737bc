#include "lib/neighbor/radix_sort.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

TEST(RadixSortTest, SortsLikeTheStandardLibrary) {
  RandomStream random(1, "radix_sort_test");
  std::vector<uint64_t> scratch;
  for (const int bits : {0, 1, 8, 9, 20, 40, 64}) {
    for (const int64_t n : {0, 1, 2, 100, 1000}) {
      std::vector<uint64_t> keys(n + 3, 7);  // some beyond n, which do not matter
      for (int64_t k = 0; k < n; ++k) keys[k] = bits == 0 ? 0 : random.Next() >> (64 - bits);
      std::vector<uint64_t> expected(keys.begin(), keys.begin() + n);
      std::sort(expected.begin(), expected.end());
      RadixSort(bits, n, &keys, &scratch);
      ASSERT_GE(keys.size(), n);
      keys.resize(n);
      EXPECT_EQ(keys, expected) << bits << " bits";
    }
  }
}

}  // namespace
}  // namespace rutile
