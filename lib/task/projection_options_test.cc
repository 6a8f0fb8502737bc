#include "lib/task/projection_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ProjectionOptionsTest, NamesAreReadAsTheyAreWritten) {
  for (const ProjectionKind kind :
       {ProjectionKind::kNone, ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSparse}) {
    EXPECT_EQ(*ParseProjectionKind(ProjectionKindName(kind)), kind);
  }
  EXPECT_THAT(std::string(ParseProjectionKind("haar").status().message()), HasSubstr("\"haar\" is no projection"));
}

TEST(ProjectionOptionsTest, DimensionHasARange) {
  EXPECT_TRUE(CheckProjectionOptions({ProjectionKind::kNone, 0}).ok());
  EXPECT_TRUE(CheckProjectionOptions({ProjectionKind::kSparse, 1}).ok());
  for (const int64_t dim : {int64_t{0}, int64_t{-1}, (int64_t{1} << 20) + 1}) {
    EXPECT_THAT(std::string(CheckProjectionOptions({ProjectionKind::kGaussian, dim}).message()),
                HasSubstr("expected a number from 1 to 1048576"));
  }
}

}  // namespace
}  // namespace rutile
