#include "tools/profile/pages/chrome_trace.h"

#include "gtest/gtest.h"
#include "lib/profile/record_testing.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

TEST(ChromeTraceTest, SpansAreCompleteEventsOnOneClock) {
  ProfileRecord first = TrainRecord(), second = TrainRecord();
  first.tool = "featurize \"x\" \xff";
  second.pid = 43;
  second.start_unix_ns += 2000000;
  second.data.spans.push_back({99, 0, 0, 1});  // of no stage
  const auto trace = nlohmann::json::parse(ChromeTrace({first, second}));
  int complete = 0, names = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") ++names;
    if (event["ph"] != "X") continue;
    ++complete;
    EXPECT_TRUE(event.contains("ts") && event.contains("dur") && event.contains("pid") && event.contains("tid"));
    if (event["pid"] == 43 && event["name"] == "network") {
      EXPECT_DOUBLE_EQ(event["ts"], 202000);
      EXPECT_DOUBLE_EQ(event["dur"], 500000);
      EXPECT_EQ(event["cat"], "step/network");
    }
  }
  EXPECT_EQ(complete, 6);
  EXPECT_EQ(names, 10);
}

TEST(ChromeTraceTest, NoRecordsAreAnEmptyTrace) {
  EXPECT_TRUE(nlohmann::json::parse(ChromeTrace({}))["traceEvents"].empty());
}

}  // namespace
}  // namespace rutile
