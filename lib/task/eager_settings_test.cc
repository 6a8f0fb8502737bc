#include "lib/task/eager_settings.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/task/eager_options.h"
#include "lib/task/precision.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

// What the types of the parameters say already is no option of LibTorch's.
TEST(EagerSettingsTest, PrecisionIsReadAndOnlyAMixedOneStays) {
  const Setting<EagerOptions>& row = *FindSetting(EagerSettings(), "precision");
  for (const Precision precision : kTrainingPrecisions) {
    EagerOptions options;
    ASSERT_EQ(row.Set(kPrecisionNames.Name(precision), &options), absl::OkStatus());
    EXPECT_EQ(options.precision, IsMixed(precision) ? precision : Precision::kAuto);
    EXPECT_EQ(row.IsRecorded(options), IsMixed(precision));
  }
  EagerOptions options;
  EXPECT_THAT(row.Set("bf16", &options),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"auto, fp32, fp64, bf16-mixed or fp16-mixed"}));
}

TEST(EagerSettingsTest, DefaultsAreNotRecordedForComparison) {
  for (const Setting<EagerOptions>& row : EagerSettings()) {
    EXPECT_TRUE(row.on_resume == OnResume::kNotCompared || !row.IsRecorded(EagerOptions())) << row.name;
  }
}

}  // namespace
}  // namespace rutile
