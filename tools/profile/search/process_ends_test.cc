#include "tools/profile/search/process_ends.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "lib/profile/record.h"
#include "lib/profile/session.h"

namespace rutile {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000, kMs = 1'000'000;

ProfileStage Main(const std::string& name, double seconds) {
  ProfileStage stage;
  stage.name = stage.path = name;
  stage.calls = 1;
  stage.self_s = stage.total_s = seconds;
  return stage;
}

// Returns a record of 100 ms, 30 of them before main.
ProfileRecord Sample() {
  ProfileRecord record;
  record.start_unix_ns = kStart;
  record.data.wall_s = 0.1;
  record.data.stages = {Main("other", 0.01), Main("read", 0.06), Main("startup", 0.03)};
  record.data.stages[0].total_s = 0.1;
  ProfileStage loader = Main("startup", 0.5);  // of another thread, with that name
  loader.thread = 1;
  record.data.stages.push_back(loader);
  record.data.spans = {{2, 0, 0, 30 * kMs}, {1, 0, 35 * kMs, 60 * kMs}};
  return record;
}

double Sum(const ProfileRecord& record) {
  double sum = 0;
  for (const ProfileStage& stage : record.data.stages) sum += stage.thread == 0 ? stage.self_s : 0;
  return sum;
}

TEST(ProcessEndsTest, StagesAddUpToTheProcess) {
  for (const int64_t before : {7 * kMs, int64_t{0}, -6 * kMs}) {  // its own idea of its start is coarse
    ProfileRecord record = Sample();
    ASSERT_TRUE(AddProcessEnds(kStart - before, kStart + 120 * kMs, &record));
    const double wall_s = 1e-9 * static_cast<double>(120 * kMs + before);
    EXPECT_NEAR(record.data.wall_s, wall_s, 1e-9);
    EXPECT_NEAR(Sum(record), wall_s, 1e-9);
    EXPECT_EQ(record.start_unix_ns, kStart - before);
    const ProfileStage& exit = record.data.stages.back();
    EXPECT_EQ(exit.name, "exit");
    EXPECT_NEAR(exit.self_s, 0.02, 1e-9);
    EXPECT_NEAR(record.data.stages[2].self_s, 0.03 + 1e-9 * static_cast<double>(before), 1e-9);
    EXPECT_NEAR(record.data.stages[0].total_s, wall_s, 1e-9);
    EXPECT_EQ(record.data.stages[3].self_s, 0.5);
    ASSERT_EQ(record.data.spans.size(), 3);
    EXPECT_EQ(record.data.spans[0].duration_ns, 30 * kMs + before);
    EXPECT_EQ(record.data.spans[1].start_ns, 35 * kMs + before);
    EXPECT_EQ(record.data.spans[2].start_ns + record.data.spans[2].duration_ns, 120 * kMs + before);
  }
}

TEST(ProcessEndsTest, WithoutStartupAndSpans) {
  ProfileRecord record = Sample();
  record.data.stages.resize(2);
  record.data.spans.clear();
  ASSERT_TRUE(AddProcessEnds(kStart - 5 * kMs, kStart + 100 * kMs, &record));
  EXPECT_NEAR(Sum(record), 0.075, 1e-9);
  EXPECT_TRUE(record.data.spans.empty());
  EXPECT_EQ(record.data.stages[2].name, "startup");
}

TEST(ProcessEndsTest, AnotherTime) {
  ProfileRecord record = Sample();
  const std::string before = ProfileRecordJson(record);
  EXPECT_FALSE(AddProcessEnds(kStart + 30 * kMs, kStart + 200 * kMs, &record)) << "it began before the process";
  EXPECT_FALSE(AddProcessEnds(kStart, kStart + 99 * kMs, &record)) << "it ended after the process";
  EXPECT_EQ(ProfileRecordJson(record), before);
}

}  // namespace
}  // namespace rutile
