#include "lib/influence/subset_plan.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

SubsetPlanOptions Options(int64_t num_subsets, double kept, uint64_t seed = 1) {
  SubsetPlanOptions options;
  options.num_subsets = num_subsets;
  options.kept = kept;
  options.seed = seed;
  return options;
}

int64_t Count(absl::Span<const uint8_t> kept) { return std::accumulate(kept.begin(), kept.end(), int64_t{0}); }

TEST(SubsetPlanTest, EachExampleIsKeptByItsShare) {
  constexpr int64_t kSubsets = 2000, kNum = 20;
  const std::vector<uint8_t> plan = DrawSubsets(kNum, Options(kSubsets, 0.3), {}, {}).value();
  ASSERT_EQ(plan.size(), kSubsets * kNum);
  std::vector<double> share(kNum, 0);
  for (int64_t m = 0; m < kSubsets; ++m) {
    const absl::Span<const uint8_t> subset = absl::MakeConstSpan(plan).subspan(m * kNum, kNum);
    EXPECT_EQ(Count(subset), 6);
    for (int64_t i = 0; i < kNum; ++i) share[i] += subset[i] / static_cast<double>(kSubsets);
  }
  for (const double found : share) EXPECT_NEAR(found, 0.3, 0.05);  // five standard deviations of sqrt(.3 .7 / 2000)
  EXPECT_EQ(plan, DrawSubsets(kNum, Options(kSubsets, 0.3), {}, {}).value());
  EXPECT_NE(plan, DrawSubsets(kNum, Options(kSubsets, 0.3, 2), {}, {}).value());
}

// More subsets of the same seed begin with those of fewer.
TEST(SubsetPlanTest, MoreSubsetsExtendFewer) {
  const std::vector<uint8_t> few = DrawSubsets(9, Options(3, 0.5), {}, {}).value();
  std::vector<uint8_t> many = DrawSubsets(9, Options(5, 0.5), {}, {}).value();
  many.resize(few.size());
  EXPECT_EQ(many, few);
}

// Strata of 10, 5 and 1 keep half: 5, 2 or 3, and 0 or 1, together 8.
TEST(SubsetPlanTest, StrataKeepTheirShares) {
  std::vector<int64_t> stratum(10, 0);
  stratum.insert(stratum.end(), 5, 2);
  stratum.push_back(1);
  double single = 0;
  constexpr int64_t kSubsets = 1000;
  const std::vector<uint8_t> plan = DrawSubsets(16, Options(kSubsets, 0.5), stratum, {}).value();
  for (int64_t m = 0; m < kSubsets; ++m) {
    const absl::Span<const uint8_t> subset = absl::MakeConstSpan(plan).subspan(m * 16, 16);
    EXPECT_EQ(Count(subset.subspan(0, 10)), 5);
    EXPECT_EQ(Count(subset), 8);
    single += subset[15] / static_cast<double>(kSubsets);
  }
  EXPECT_NEAR(single, 0.5, 0.08);  // five standard deviations
}

// A ring of entities with a chord, and one entity that has a single example.
TEST(SubsetPlanTest, EntitiesKeepAnExample) {
  std::vector<std::array<int32_t, 2>> links;
  for (int32_t e = 0; e < 10; ++e) links.push_back({e, (e + 1) % 10});
  for (int32_t e = 0; e < 10; ++e) links.push_back({e, (e + 3) % 10});
  links.push_back({4, 10});
  links.push_back({7, 7});
  const auto n = static_cast<int64_t>(links.size());
  const std::vector<uint8_t> plan = DrawSubsets(n, Options(200, 0.4), {}, links).value();
  for (int64_t m = 0; m < 200; ++m) {
    const absl::Span<const uint8_t> subset = absl::MakeConstSpan(plan).subspan(m * n, n);
    std::vector<int> count(11, 0);
    for (int64_t i = 0; i < n; ++i) {
      if (subset[i] == 0) continue;
      ++count[links[i][0]];
      ++count[links[i][1]];
    }
    EXPECT_THAT(count, ::testing::Each(::testing::Ge(1))) << m;
    EXPECT_EQ(subset[20], 1);  // the only one of entity 10
    EXPECT_GE(Count(subset), 9);
    EXPECT_LE(Count(subset), 12);
  }
}

TEST(SubsetPlanTest, SharesThatLeaveNothingAreErrors) {
  for (const double kept : {0.0, 1.0, -1.0, 0.01, 0.99}) {
    EXPECT_THAT(DrawSubsets(10, Options(3, kept), {}, {}).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, {"10 training examples"}));
  }
  EXPECT_THAT(DrawSubsets(1, Options(3, 0.5), {}, {}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"1 training examples"}));
  EXPECT_THAT(DrawSubsets(10, Options(0, 0.5), {}, {}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"0 subsets"}));
}

}  // namespace
}  // namespace rutile
