#include "lib/base/duration_text.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

TEST(DurationTextTest, ReadsBothForms) {
  EXPECT_EQ(ParseDurationText("1h30m").value(), absl::Minutes(90));
  EXPECT_EQ(ParseDurationText("500ms").value(), absl::Milliseconds(500));
  EXPECT_EQ(ParseDurationText("02:03:04:05").value(), absl::Hours(51) + absl::Minutes(4) + absl::Seconds(5));
  EXPECT_EQ(ParseDurationText("inf").value(), absl::InfiniteDuration());
}

TEST(DurationTextTest, RefusesWhatIsNoTimeAboveZero) {
  for (const char* text : {"", "soon", "5", "-1h", "0s", "00:00:00:00", "1:2:3", "-1:0:0:0", "1:x:0:0"}) {
    EXPECT_THAT(ParseDurationText(text), ErrorNames(absl::StatusCode::kInvalidArgument, {"DD:HH:MM:SS", "1h30m"}))
        << text;
  }
}

TEST(DurationTextTest, WritesWhatItReads) {
  for (const absl::Duration duration : {absl::Milliseconds(1), absl::Seconds(90), absl::Hours(100)}) {
    EXPECT_EQ(ParseDurationText(DurationText(duration)).value(), duration);
  }
  EXPECT_EQ(DurationText(absl::Hours(2)), "2h");
  EXPECT_EQ(DurationText(absl::InfiniteDuration()), "");
}

}  // namespace
}  // namespace rutile
