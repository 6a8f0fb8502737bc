#include "lib/profile/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "lib/trace/fake_device_clock.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

void Work(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
  }
}

ProfileOptions WithSpans(int64_t most) {
  ProfileOptions options;
  options.spans = true;
  options.max_spans = most;
  return options;
}

// This must be the first test of the file: startup counts once in a process.
TEST(SessionTest, StartupIsCountedOnce) {
  StartProfile({});
  const ProfileData first = StopProfile();
  ASSERT_EQ(first.stages.back().name, "startup");
  EXPECT_GT(first.stages.back().self_s, 0);
  EXPECT_LT(first.stages.back().self_s, 30);
  double sum = 0;
  for (const ProfileStage& stage : first.stages) sum += stage.self_s;
  EXPECT_NEAR(sum, first.wall_s, 1e-6);
  StartProfile({});
  EXPECT_EQ(StopProfile().stages.back().name, "other");
}

TEST(SessionTest, SecondSessionForgetsTheFirst) {
  StartProfile(WithSpans(100));
  { const ProfileScope scope(Stage::kRead); }
  EXPECT_EQ(StopProfile().stages.size(), 2);
  StartProfile(WithSpans(100));
  { const ProfileScope scope(Stage::kWrite); }
  const ProfileData data = StopProfile();
  ASSERT_EQ(data.stages.size(), 2);
  EXPECT_EQ(data.stages[1].name, "write");
  EXPECT_EQ(data.stages[1].calls, 1);
  EXPECT_EQ(data.spans.size(), 1);
}

TEST(SessionTest, ScopesOfTheMainThreadAreTimedOnADevice) {
  FakeDevice device;
  StartProfile({});
  {
    const ProfileScope before(Stage::kSetup);  // begins before timing starts
    TimeDevice(std::make_unique<FakeDeviceClock>(&device));
  }
  for (int step = 0; step < 3; ++step) {
    const ProfileScope outer(Stage::kStep);
    {
      const ProfileScope inner(Stage::kForward);
      device.queued_s += 0.25;
      std::thread([] { const ProfileScope elsewhere(Stage::kMakeBatch); }).join();
    }
    device.queued_s += 0.5;
  }
  EXPECT_EQ(device.awaited, 0) << "a step has waited for the device";
  EXPECT_EQ(device.recorded, 12);
  const ProfileData data = StopProfile();
  EXPECT_EQ(device.awaited, 1);
  EXPECT_EQ(device.read_early, 0);
  std::map<std::string, double> seconds;
  for (const ProfileStage& stage : data.stages) seconds[stage.path] = stage.device_s;
  EXPECT_EQ(seconds["step"], 2.25);
  EXPECT_EQ(seconds["step/forward"], 0.75);
  for (const char* path : {"other", "setup", "make_batch"}) EXPECT_EQ(seconds[path], -1) << path;
  // The next session has no device.
  StartProfile({});
  { const ProfileScope scope(Stage::kRead); }
  EXPECT_EQ(StopProfile().stages[1].device_s, -1);
  EXPECT_EQ(device.recorded, 12);
}

TEST(SessionTest, SpansTellWhen) {
  StartProfile(WithSpans(100));
  {
    const ProfileScope outer(Stage::kValidation);
    Work(0.001);
    const ProfileScope inner(Stage::kForward);
    Work(0.002);
  }
  const ProfileData data = StopProfile();
  ASSERT_EQ(data.spans.size(), 2);
  const ProfileSpan& outer = data.spans[0];
  const ProfileSpan& inner = data.spans[1];
  EXPECT_EQ(data.stages[outer.stage].path, "validation");
  EXPECT_EQ(data.stages[inner.stage].path, "validation/forward");
  EXPECT_GE(inner.start_ns - outer.start_ns, 990000);
  EXPECT_GE(inner.duration_ns, 1990000);
  EXPECT_LE(inner.start_ns + inner.duration_ns, outer.start_ns + outer.duration_ns + 1);
  EXPECT_EQ(data.spans_dropped, 0);
}

TEST(SessionTest, NoSpansUnlessAsked) {
  StartProfile({});
  { const ProfileScope scope(Stage::kRead); }
  EXPECT_TRUE(StopProfile().spans.empty());
}

TEST(SessionTest, LongSpansAreKept) {
  constexpr int kShort = 5000;
  StartProfile(WithSpans(100));
  for (int i = 0; i < kShort; ++i) {
    const ProfileScope scope(Stage::kStep);
    if (i % 1000 == 500) {
      const ProfileScope checkpoint(Stage::kCheckpoint);
      Work(0.002);
    }
  }
  const ProfileData data = StopProfile();
  EXPECT_LE(data.spans.size(), 100);
  EXPECT_GE(data.spans.size(), 10);
  EXPECT_EQ(static_cast<int64_t>(data.spans.size()) + data.spans_dropped, kShort + 5);
  EXPECT_EQ(std::count_if(data.spans.begin(), data.spans.end(),
                          [&](const ProfileSpan& span) { return data.stages[span.stage].name == "checkpoint"; }),
            5);
  EXPECT_TRUE(std::is_sorted(data.spans.begin(), data.spans.end(),
                             [](const ProfileSpan& a, const ProfileSpan& b) { return a.start_ns < b.start_ns; }));
}

// A worker that still records after the main thread is done must do no harm. For --config=tsan and asan.
TEST(SessionTest, StopsBesideAThreadThatGoesOn) {
  StartProfile(WithSpans(1000));
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) {
      const ProfileScope scope(Stage::kMakeBatch);
      scope.Add(Counter::kExamples, 1);
    }
  });
  Work(0.01);
  const ProfileData data = StopProfile();
  stop = true;
  worker.join();
  ASSERT_EQ(data.threads.size(), 2);
  EXPECT_GT(data.stages.back().calls + data.stages[1].calls, 100);
}

TEST(SessionDeathTest, ScopesOfTheMainThreadEndBefore) {
  EXPECT_DEATH(
      {
        StartProfile({});
        const ProfileScope scope(Stage::kRead);
        StopProfile();
      },
      "StopProfile inside a scope");
}

}  // namespace
}  // namespace rutile
