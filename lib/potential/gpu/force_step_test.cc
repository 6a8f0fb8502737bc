#include "lib/potential/gpu/force_step.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/gpu/transfer_area-inl.h"

namespace rutile {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

StepModel Model() {
  StepModel model;
  model.descriptor.rad_cutoff = 4;
  model.descriptor.spins = {1};
  model.mean = {0};
  model.scale = {1};
  return model;
}

TEST(ForceStepTest, SaysWhyThereIsNoGpu) {
  std::string error;
  EXPECT_EQ(MakeCudaForceStep<float>(Model(), 1000, &error), nullptr);
  if (!HasCudaForceStep()) {
    EXPECT_EQ(NumCudaGpus(), 0);
    EXPECT_THAT(error, HasSubstr("built without kernels for GPUs"));
    return;
  }
  EXPECT_THAT(error, AnyOf(HasSubstr("no GPU: "), HasSubstr("there is no GPU 1000; the last one is cuda:")));
}

TEST(TransferAreaTest, KeepsArraysApart) {
  HostBackend backend;
  TransferArea<HostBackend> area(&backend);
  for (int round = 1; round < 4; ++round) {  // the area grows
    area.Clear();
    const int64_t count = 300 * round, bytes = area.Place<uint8_t>(count), numbers = area.Place<double>(count);
    const int64_t none = area.Place<double>(0);
    ASSERT_TRUE(area.Allocate());
    for (int64_t i = 0; i < count; ++i) {
      area.Host<uint8_t>(bytes)[i] = static_cast<uint8_t>(i + round);
      area.Host<double>(numbers)[i] = static_cast<double>(i) / round;
    }
    area.Upload();
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(area.Device<uint8_t>(bytes)[i], static_cast<uint8_t>(i + round));
      ASSERT_EQ(area.Device<double>(numbers)[i], static_cast<double>(i) / round);
      area.Device<double>(numbers)[i] += round;
    }
    area.Download();
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(area.Host<double>(numbers)[i], static_cast<double>(i) / round + round);
    }
    EXPECT_GE(none, numbers + count * static_cast<int64_t>(sizeof(double)));
  }
}

}  // namespace
}  // namespace rutile
