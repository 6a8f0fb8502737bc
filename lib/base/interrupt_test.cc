#include "lib/base/interrupt.h"

#include <csignal>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(InterruptTest, NothingReceived) {
  SetInterruptForTest(0);
  EXPECT_EQ(InterruptSignal(), 0);
  EXPECT_TRUE(CheckInterrupt().ok());
}

TEST(InterruptTest, TheFirstSignalSetsTheFlag) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGUSR1}) {
    SetInterruptForTest(0);
    InstallInterruptHandlers();
    std::raise(signal_number);
    EXPECT_EQ(InterruptSignal(), signal_number);
    EXPECT_EQ(CheckInterrupt().code(), absl::StatusCode::kCancelled);
  }
  SetInterruptForTest(SIGTERM);
  EXPECT_EQ(CheckInterrupt().message(), "stopped by signal 15 (Terminated)");
  SetInterruptForTest(0);
}

TEST(InterruptTest, FilesThatMayNotGrowDoNotEndTheProcess) {
  InstallInterruptHandlers();
  std::raise(SIGXFSZ);
  EXPECT_EQ(InterruptSignal(), 0);
}

TEST(InterruptTest, LaunchersMaySignalTwice) {
  for (const int signal_number : {SIGTERM, SIGUSR1}) {
    SetInterruptForTest(0);
    InstallInterruptHandlers();
    std::raise(signal_number);
    std::raise(signal_number);
    EXPECT_EQ(InterruptSignal(), signal_number);
  }
  SetInterruptForTest(0);
}

TEST(InterruptDeathTest, TheSecondCtrlCEndsTheProcess) {
  EXPECT_EXIT(
      {
        InstallInterruptHandlers();
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace rutile
