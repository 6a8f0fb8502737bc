#include "lib/task/torch/device_events.h"

#include <ATen/ATen.h>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(DeviceEventsTest, TheCpuHasNoQueue) { EXPECT_EQ(MakeDeviceClock("cpu"), nullptr); }

TEST(DeviceEventsTest, TimesWorkOnAGpu) {
  if (!at::hasCUDA() || !at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const std::unique_ptr<DeviceClock> clock = MakeDeviceClock("cuda");
  if (clock == nullptr) GTEST_SKIP() << "LibTorch's events know no times";
  at::Tensor a = at::ones({1024, 1024}, at::device(at::kCUDA));
  const int begin = clock->Record();
  for (int k = 0; k < 100; ++k) a = at::mm(a, a) * 1e-3;
  const int end = clock->Record();
  ASSERT_NE(begin, DeviceClock::kNone);
  ASSERT_NE(end, DeviceClock::kNone);
  clock->Await(end);
  EXPECT_TRUE(clock->HasPassed(begin));
  EXPECT_TRUE(clock->HasPassed(end));
  EXPECT_GT(clock->Seconds(begin, end), 0);
  EXPECT_LT(clock->Seconds(begin, end), 60);
  clock->Free(begin);
  EXPECT_EQ(clock->Record(), begin);
}

}  // namespace
}  // namespace rutile
