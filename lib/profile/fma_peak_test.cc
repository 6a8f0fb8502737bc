#include "lib/profile/fma_peak.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace rutile {
namespace {

TEST(FmaPeakTest, CountsOperations) {
  const double lanes = RunFmaFloat(1) / 20;
  EXPECT_GE(lanes, 1);
  EXPECT_EQ(RunFmaFloat(1000), 20 * 1000 * lanes);
  EXPECT_EQ(RunFmaDouble(1000), lanes == 1 ? 20000 : 20 * 1000 * lanes / 2);
}

TEST(FmaPeakTest, PeaksAreOfAProcessor) {
  for (const double peak : {FmaPeakFloat(), FmaPeakDouble()}) {
    EXPECT_GT(peak, 1e7);
    EXPECT_LT(peak, 1e13);
  }
}

TEST(FmaPeakTest, ReadsEveryNumber) {
  std::vector<uint64_t> numbers(2048);
  std::iota(numbers.begin(), numbers.end(), 5);
  EXPECT_EQ(ReadAll(numbers.data(), numbers.size()), std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}));
  EXPECT_EQ(ReadAll(numbers.data(), 0), 0);
}

}  // namespace
}  // namespace rutile
