#include "tools/common/run/local_processes.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = absl::Seconds(300);  // longer than the test may take
constexpr absl::Duration kShort = absl::Milliseconds(200);

std::string Mark(absl::string_view name, int rank) {
  return absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name, "-", rank);
}

void SetMark(absl::string_view name, int rank) { std::ofstream(Mark(name, rank)) << "here"; }

void AwaitMark(absl::string_view name, int rank) {
  while (!FileExists(Mark(name, rank))) absl::SleepFor(absl::Milliseconds(5));
}

// Runs the behavior that the word after the program's name selects.
int RunAs(const std::string& what, int rank) {
  if (what == "well") {
    ReportJoined();
    return 0;
  }
  if (what == "dies-early" || what == "fails-early") {
    if (rank != 1) {
      if (rank == 0) ReportJoined();  // one is further than another
      SetMark(what, rank);
      absl::SleepFor(kLong);
    }
    AwaitMark(what, 0);
    AwaitMark(what, 2);
    if (what == "dies-early") ::raise(SIGKILL);
    return 3;
  }
  if (what == "dies-late") {  // while the other still writes
    ReportJoined();
    SetMark(what, rank);
    AwaitMark(what, 1 - rank);
    if (rank == 1) ::raise(SIGKILL);
    absl::SleepFor(5 * kShort);
    SetMark("written", 0);
    return 0;
  }
  if (what == "inherited") {  // a program started by one of the processes must report nothing
    if (const pid_t child = ::fork(); child == 0) {
      ReportJoined();
      ::_exit(0);
    }
    absl::SleepFor(kShort);
    if (rank == 1) return 4;
    absl::SleepFor(kLong);
  }
  return 9;
}

struct Outcome {
  int status;
  std::string messages;
  absl::Duration time;
};

Outcome RunProcesses(const char* what, const LocalProcessesOptions& options) {
  ::testing::internal::CaptureStderr();
  const absl::Time start = absl::Now();
  const absl::StatusOr<int> status = RunLocalProcesses({"local_processes_test", what}, options);
  Outcome outcome{status.ok() ? *status : -1, ::testing::internal::GetCapturedStderr(), absl::Now() - start};
  EXPECT_TRUE(status.ok()) << status.status();
  return outcome;
}

LocalProcessesOptions Options(int size, absl::Duration grace, absl::Duration joining_grace) {
  LocalProcessesOptions options;
  options.size = size;
  options.grace = grace;
  options.joining_grace = joining_grace;
  return options;
}

constexpr char kEnded[] = "rank 1 has ended before all processes had joined: the others, which wait for it, are ended";

TEST(LocalProcessesTest, ReturnsZeroWhenAllDo) {
  const Outcome outcome = RunProcesses("well", Options(3, kLong, kShort));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.messages, "");
}

TEST(LocalProcessesTest, EndsTheOthersSoonWhenOneIsKilledBeforeAllHaveJoined) {
  const Outcome outcome = RunProcesses("dies-early", Options(3, kLong, kShort));
  EXPECT_EQ(outcome.status, 128 + SIGKILL);
  EXPECT_THAT(outcome.messages, HasSubstr("was ended by signal 9 (Killed)"));
  EXPECT_THAT(outcome.messages, HasSubstr(kEnded));
  EXPECT_LT(outcome.time, kLong / 2);
}

TEST(LocalProcessesTest, EndsTheOthersSoonWhenOneFailsBeforeAllHaveJoined) {
  const Outcome outcome = RunProcesses("fails-early", Options(3, kLong, kShort));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.messages, HasSubstr(kEnded));
  EXPECT_LT(outcome.time, kLong / 2);
}

TEST(LocalProcessesTest, LeavesTheOthersTheirTimeOnceAllHaveJoined) {
  const Outcome outcome = RunProcesses("dies-late", Options(2, kLong, kShort));
  EXPECT_EQ(outcome.status, 128 + SIGKILL);
  EXPECT_TRUE(FileExists(Mark("written", 0)));
  EXPECT_THAT(outcome.messages, Not(HasSubstr("before all processes had joined")));
}

TEST(LocalProcessesTest, WithoutATimeOfItsOwnJoiningHasTheSame) {
  const Outcome outcome = RunProcesses("dies-early", Options(3, kShort, absl::InfiniteDuration()));
  EXPECT_EQ(outcome.status, 128 + SIGKILL);
  EXPECT_THAT(outcome.messages, Not(HasSubstr("before all processes had joined")));
  EXPECT_LT(outcome.time, kLong / 2);
}

TEST(LocalProcessesTest, OnlyItsOwnProcessesReport) {
  const Outcome outcome = RunProcesses("inherited", Options(2, kLong, kShort));
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.messages, HasSubstr(kEnded));
}

TEST(LocalProcessesTest, ReportJoinedDoesNothingElsewhere) { ReportJoined(); }

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  const char* const rank = std::getenv("RANK");
  if (argc == 2 && rank != nullptr) return rutile::RunAs(argv[1], std::atoi(rank));
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
