#include "lib/trace/device_times.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "lib/trace/fake_device_clock.h"

namespace rutile {
namespace {

TEST(DeviceTimesTest, TimesLieBetweenTheEventsOfAScope) {
  FakeDevice device;
  DeviceTimes times(std::make_unique<FakeDeviceClock>(&device));
  const int step = 0, forward = 0;
  for (int k = 0; k < 3; ++k) {
    times.Begin(&step);
    times.Begin(&forward);
    device.queued_s += 2;
    times.End(&forward, 5);
    device.queued_s += 1;
    times.End(&step, 1);
  }
  EXPECT_EQ(times.Seconds(1), -1);  // the device has not reached the events
  times.Finish();
  EXPECT_EQ(times.Seconds(1), 9);
  EXPECT_EQ(times.Seconds(5), 6);
  EXPECT_EQ(times.Seconds(0), -1);
  EXPECT_EQ(times.Seconds(100), -1);
  EXPECT_EQ(device.awaited, 1);
  EXPECT_EQ(device.read_early, 0);
}

// Events that have passed are read on the way, so that a long run needs only a few events, and nothing waits.
TEST(DeviceTimesTest, EventsAreUsedAgain) {
  FakeDevice device;
  DeviceTimes times(std::make_unique<FakeDeviceClock>(&device));
  const int scope = 0;
  for (int k = 0; k < 1000; ++k) {
    times.Begin(&scope);
    device.queued_s += 1;
    times.End(&scope, 0);
    device.now_s = device.queued_s - 3;  // some steps behind the program
  }
  EXPECT_EQ(device.awaited, 0);
  EXPECT_EQ(device.recorded, 2000);
  EXPECT_LE(device.at.size(), 10);
  times.Finish();
  EXPECT_EQ(times.Seconds(0), 1000);
  EXPECT_EQ(device.read_early, 0);
  EXPECT_EQ(std::count(device.in_use.begin(), device.in_use.end(), true), 0);
}

TEST(DeviceTimesTest, ScopesThatBeganEarlierAreNotTimed) {
  FakeDevice device;
  DeviceTimes times(std::make_unique<FakeDeviceClock>(&device));
  const int outer = 0, inner = 0;
  times.Begin(&inner);
  device.queued_s = 1;
  times.End(&inner, 2);
  times.End(&outer, 1);
  times.Finish();
  EXPECT_EQ(times.Seconds(2), 1);
  EXPECT_EQ(times.Seconds(1), -1);
}

TEST(DeviceTimesTest, ADeviceThatFailsIsLeftAlone) {
  FakeDevice device;
  DeviceTimes times(std::make_unique<FakeDeviceClock>(&device));
  const int scope = 0;
  times.Begin(&scope);
  device.failed = true;
  times.End(&scope, 0);
  times.Begin(&scope);
  times.End(&scope, 0);
  times.Finish();
  EXPECT_EQ(times.Seconds(0), -1);
  EXPECT_EQ(std::count(device.in_use.begin(), device.in_use.end(), true), 0);
}

}  // namespace
}  // namespace rutile
