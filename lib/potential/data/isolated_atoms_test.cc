#include "lib/potential/data/isolated_atoms.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(IsolatedAtomsTest, ConfigTypeOrNoNeighbor) {
  int64_t pairs = 0, calls = 0;
  const auto num_pairs = [&]() -> absl::StatusOr<int64_t> {
    ++calls;
    return pairs;
  };
  EXPECT_TRUE(*IsIsolated(1, "", num_pairs));
  pairs = 6;  // with its own images
  EXPECT_FALSE(*IsIsolated(1, "bulk", num_pairs));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(*IsIsolated(1, "isolatedatom", num_pairs));
  EXPECT_FALSE(*IsIsolated(2, "IsolatedAtom", num_pairs));
  EXPECT_EQ(calls, 2) << "neighbors that decide nothing were counted";
  const auto fails = []() -> absl::StatusOr<int64_t> { return absl::InvalidArgumentError("a flat cell"); };
  EXPECT_EQ(IsIsolated(1, "", fails).status().message(), "a flat cell");
}

}  // namespace
}  // namespace rutile
