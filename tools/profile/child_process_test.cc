#include "tools/profile/child_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "tools/profile/scratch_directory.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

ChildResult Shell(const std::string& script, const ChildOptions& options = {}) {
  const absl::StatusOr<ChildResult> result = RunChild({"sh", "-c", script}, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(ChildResult());
}

std::string Read(const std::string& path) { return std::string(FileContents::Open(path)->data()); }

TEST(ChildProcessTest, StatusAndSignalsArePassedOn) {
  EXPECT_EQ(Shell("exit 0").exit_status, 0);
  EXPECT_EQ(Shell("exit 37").exit_status, 37);
  EXPECT_EQ(Shell("kill -9 $$").exit_status, 137);
}

// Start and end are those of the command's own process, also if another one lives longer.
TEST(ChildProcessTest, StartAndEnd) {
  const auto scratch = ScratchDirectory::Create();
  ASSERT_TRUE(scratch.ok());
  ChildOptions options;
  options.output = scratch->path("out");
  const int64_t before = absl::ToUnixNanos(absl::Now());
  const ChildResult result = Shell("echo $$; (sleep 0.5) & sleep 0.1", options);
  EXPECT_EQ(Read(options.output), absl::StrCat(result.pid, "\n"));
  EXPECT_GE(result.start_unix_ns, before);
  EXPECT_GE(result.end_unix_ns - result.start_unix_ns, int64_t{100'000'000});
  EXPECT_GE(1e9 * result.wall_s, 500'000'000);
  EXPECT_LE(result.end_unix_ns, before + static_cast<int64_t>(1e9 * result.wall_s) + 100'000'000);
}

TEST(ChildProcessTest, CommandsThatCannotBeRun) {
  const absl::Status missing = RunChild({"no-such-command-here"}, {}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("no-such-command-here"));
  EXPECT_FALSE(RunChild({"/"}, {}).ok());
}

TEST(ChildProcessTest, EnvironmentAndStreams) {
  const auto scratch = ScratchDirectory::Create();
  ASSERT_TRUE(scratch.ok());
  ::setenv("RUTILE_TEST_VARIABLE", "before", 1);
  ChildOptions options;
  options.environment = {{"RUTILE_TEST_VARIABLE", "after"}};
  options.output = scratch->path("out");
  options.messages = scratch->path("err");
  Shell("echo $RUTILE_TEST_VARIABLE; echo oops >&2", options);
  EXPECT_EQ(Read(options.output), "after\n");
  EXPECT_EQ(Read(options.messages), "oops\n");
  options.output.clear();
  options.output_to_messages = true;
  Shell("echo one; echo two >&2", options);
  EXPECT_EQ(Read(options.messages), "one\ntwo\n");
}

TEST(ChildProcessTest, TimeAndMemoryAreOfAllProcesses) {
  const ChildResult result = Shell("for i in 1 2; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done");
  EXPECT_GT(result.wall_s, 0);
  EXPECT_GT(result.cpu_s, 0);
  EXPECT_GT(result.peak_rss_bytes, 100000);
}

TEST(ChildProcessTest, CutAfterItsTime) {
  ChildOptions options;
  options.max_time = absl::Milliseconds(100);
  const absl::Time start = absl::Now();
  ChildResult result = Shell("sleep 30", options);
  EXPECT_TRUE(result.cut);
  EXPECT_EQ(result.exit_status, 128 + SIGTERM);
  // A command that ignores the signal is killed, with its children.
  options.grace = absl::Milliseconds(200);
  result = Shell("trap '' TERM; sleep 30; sleep 30", options);
  EXPECT_TRUE(result.cut);
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(ChildProcessTest, KilledAboveItsMemory) {
  ChildOptions options;
  options.memory_limit = 60000000;
  const auto result = RunChild({"python3", "-c", "import time; x = b'1' * 200000000; time.sleep(20)"}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->over_memory);
  EXPECT_EQ(result->exit_status, 137);
  EXPECT_GT(result->peak_rss_bytes, 60000000);
}

TEST(ChildProcessTest, DoneWhenEnoughIsKnown) {
  ChildOptions options;
  int asked = 0;
  options.done = [&] { return ++asked == 2; };
  const ChildResult result = Shell("sleep 30", options);
  EXPECT_TRUE(result.done);
  EXPECT_EQ(asked, 2);
}

TEST(ChildProcessTest, TheCommandDoesNotOutliveUs) {
  const auto scratch = ScratchDirectory::Create();
  ASSERT_TRUE(scratch.ok());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that what is left behind becomes our child
  ChildOptions options;
  options.output = scratch->path("out");
  const pid_t helper = ::fork();
  ASSERT_GE(helper, 0);
  if (helper == 0) {
    RunChild({"sh", "-c", "echo $$; exec sleep 60"}, options).IgnoreError();
    ::_exit(1);
  }
  int64_t command = 0;
  while (!FileExists(options.output) || !absl::SimpleAtoi(Read(options.output), &command)) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ::kill(helper, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(helper, &status, 0), helper);
  ASSERT_EQ(::waitpid(static_cast<pid_t>(command), &status, 0), command);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST(ChildProcessTest, SignalsToUsAreHandedOn) {
  ChildOptions options;
  SetInterruptForTest(SIGUSR1);
  const ChildResult result = Shell("trap 'exit 5' USR1; while :; do sleep 0.01; done", options);
  SetInterruptForTest(0);
  EXPECT_TRUE(result.exit_status == 5 || result.exit_status == 128 + SIGUSR1) << result.exit_status;
  EXPECT_FALSE(result.cut);
}

// Processes that a pipeline leaves for a moment are waited for, since its tools write their records.
TEST(ChildProcessTest, ProcessesThatOutliveTheCommandAreWaitedFor) {
  const auto scratch = ScratchDirectory::Create();
  ASSERT_TRUE(scratch.ok());
  const std::string path = scratch->path("late");
  Shell(absl::StrCat("(sleep 0.3; echo done > ", path, ") & exit 0"));
  EXPECT_EQ(Read(path), "done\n");
}

}  // namespace
}  // namespace rutile
