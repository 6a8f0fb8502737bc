#include "lib/task/device_name.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

TEST(DeviceNameTest, NamesThatThereAre) {
  EXPECT_FALSE(ParseDeviceName("cpu")->is_cuda);
  EXPECT_TRUE(ParseDeviceName("cuda")->is_cuda);
  EXPECT_EQ(ParseDeviceName("cuda")->number, std::nullopt);
  EXPECT_EQ(ParseDeviceName("cuda:0")->number, 0);
  EXPECT_EQ(ParseDeviceName("cuda:15")->number, 15);
  EXPECT_TRUE(ParseDeviceName("cuda:15")->is_cuda);
}

// LibTorch ends a program that gives it such a name.
TEST(DeviceNameTest, OthersAreRefused) {
  for (const char* name : {"", "gpu", "CUDA", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ",
                           "cuda:01", "cuda:00", "cuda:0x", "cuda:99999999999", "cuda1"}) {
    EXPECT_THAT(ParseDeviceName(name).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, {absl::StrCat("\"", name, "\""), "cuda:N"}));
  }
}

}  // namespace
}  // namespace rutile
