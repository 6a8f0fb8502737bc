#include "lib/plot/gnuplot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kLine[] = R"(set terminal svg noenhanced
$d << EOD
1 2
2 3
EOD
plot $d with lines
)";

// Makes a shell script that replaces gnuplot.
std::string FakeProgram(const std::string& name, const std::string& body) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path) << "#!/bin/sh\n" << body;
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  return path;
}

GnuplotOptions Program(const std::string& program, absl::Duration timeout = absl::Seconds(60)) {
  GnuplotOptions options;
  options.program = program;
  options.timeout = timeout;
  return options;
}

TEST(RunGnuplotTest, DrawsTheSameBytesTwice) {
  const auto first = RunGnuplot(kLine);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(*first, HasSubstr("<svg"));
  EXPECT_THAT(*first, HasSubstr("</svg>"));
  EXPECT_EQ(*RunGnuplot(kLine), *first);
}

TEST(RunGnuplotTest, IgnoresTheUsersLocaleTerminalAndStartUpFiles) {
  const std::string plain = *RunGnuplot(kLine);
  const std::string home = ::testing::TempDir();
  std::ofstream(absl::StrCat(home, "/.gnuplot")) << "set title 'mine'\nset grid\n";
  ASSERT_EQ(setenv("HOME", home.c_str(), 1), 0);
  ASSERT_EQ(setenv("LC_ALL", "de_DE.UTF-8", 1), 0);
  ASSERT_EQ(setenv("GNUTERM", "dumb", 1), 0);
  EXPECT_EQ(*RunGnuplot(kLine), plain);
}

TEST(RunGnuplotTest, ReportsWhatGnuplotSays) {
  const auto result = RunGnuplot("set terminal svg\nplot nonsense\n");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("nonsense"));
}

TEST(RunGnuplotTest, RefusesSilence) {
  EXPECT_THAT(std::string(RunGnuplot("").status().message()), HasSubstr("drew nothing"));
  EXPECT_THAT(std::string(RunGnuplot("a = 1\n").status().message()), HasSubstr("drew nothing"));
}

TEST(RunGnuplotTest, SaysHowToInstall) {
  const auto result = RunGnuplot(kLine, Program("gnuplot-that-is-not-there"));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("is not installed: apt-get install gnuplot-nox"));
}

TEST(RunGnuplotTest, StopsWaiting) {
  // The grandchild keeps the output open, too.
  const std::string program = FakeProgram("sleeper", "sleep 100 & sleep 100\n");
  const absl::Time start = absl::Now();
  const auto result = RunGnuplot(kLine, Program(program, absl::Milliseconds(300)));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(RunGnuplotTest, StopsWaitingForOneThatClosedItsOutputs) {
  const std::string program = FakeProgram("closer", "exec >&- 2>&- <&-; sleep 100\n");
  const auto result = RunGnuplot(kLine, Program(program, absl::Milliseconds(300)));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
}

TEST(RunGnuplotTest, SurvivesAChildThatDoesNotRead) {
  const std::string program = FakeProgram("deaf", "exec <&-; echo no room >&2; exit 3\n");
  const auto result = RunGnuplot(std::string(10 << 20, 'x'), Program(program));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("exit status 3: no room"));
}

TEST(RunGnuplotTest, ReportsASignal) {
  const auto result = RunGnuplot(kLine, Program(FakeProgram("killed", "kill -9 $$\n")));
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("killed by signal 9"));
}

TEST(RunGnuplotTest, PassesMuchBothWays) {
  // More bytes than any buffer between the two holds.
  const std::string script(20 << 20, 'x');
  const auto result = RunGnuplot(script, Program(FakeProgram("echo", "cat\n")));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(*result == script);
}

TEST(RunGnuplotTest, LeavesNoFileOpen) {
  const int before = open("/dev/null", O_RDONLY);
  close(before);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(RunGnuplot(kLine).ok());
  const int after = open("/dev/null", O_RDONLY);
  close(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace rutile
