#include "lib/base/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(FormatDurationTest, MinutesAndHours) {
  EXPECT_EQ(FormatDuration(0), "0:00");
  EXPECT_EQ(FormatDuration(6.6), "0:07");
  EXPECT_EQ(FormatDuration(59.6), "1:00");
  EXPECT_EQ(FormatDuration(750), "12:30");
  EXPECT_EQ(FormatDuration(11100), "3:05:00");
  EXPECT_EQ(FormatDuration(1e300), "a long time");
}

TEST(FormatProgressTest, KnownTotal) {
  EXPECT_EQ(FormatProgress("featurize", 450, 1000, 4.5, 200),
            "featurize   45 % [###########              ] 450/1000  100/s  0:06 left");
  EXPECT_EQ(FormatProgress("x", 10, 10, 80, 200), "x  100 % [#########################] 10/10  0.125/s  1:20");
}

TEST(FormatProgressTest, NothingDoneOrNothingToDo) {
  EXPECT_EQ(FormatProgress("x", 0, 10, 0, 200), "x    0 % [                         ] 0/10  0/s");
  EXPECT_THAT(FormatProgress("x", 0, 0, 0, 200), HasSubstr("100 %"));
  EXPECT_THAT(FormatProgress("x", 12, 10, 1, 200), HasSubstr("100 % [#########################] 12/10"));
}

TEST(FormatProgressTest, UnknownTotal) { EXPECT_EQ(FormatProgress("x", 50, -1, 61, 200), "x  50  0.82/s  1:01"); }

TEST(FormatProgressTest, FitsTheWidth) {
  EXPECT_EQ(FormatProgress("featurize", 1, 2, 1, 12).size(), 12u);
  EXPECT_EQ(FormatProgress("featurize", 1, 2, 1, -1), "");
}

// Returns what `body` writes to standard error while that is a terminal (or a pipe).
std::string Captured(bool terminal, const std::function<void()>& body) {
  int from, to;
  if (terminal) {
    from = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (from < 0 || ::grantpt(from) != 0 || ::unlockpt(from) != 0) return "no pseudoterminal";
    to = ::open(::ptsname(from), O_RDWR | O_NOCTTY);
  } else {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    from = ends[0];
    to = ends[1];
  }
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(to, STDERR_FILENO);
  body();
  ::dup2(saved, STDERR_FILENO);
  for (const int fd : {saved, to}) ::close(fd);
  // Reads until the other end is closed: a pseudoterminal delivers its bytes with a delay.
  std::string output;
  char buffer[4096];
  for (ssize_t size; (size = ::read(from, buffer, sizeof(buffer))) > 0;) output.append(buffer, size);
  ::close(from);
  return output;
}

void RunFor(int milliseconds, bool enabled) {
  ProgressBar bar("work", 100, enabled);
  bar.Add(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  bar.Add(98);
  for (int i = 0; i < 1000; ++i) bar.Add(0);  // must not draw again at once
  bar.Add(1);
  bar.Finish();
  bar.Finish();
  bar.Add(50);
}

TEST(ProgressBarTest, DrawsOnATerminal) {
  ::setenv("TERM", "xterm", 1);
  const std::string output = Captured(true, [] { RunFor(150, true); });
  EXPECT_THAT(output, HasSubstr("work   99 %"));
  EXPECT_THAT(output, HasSubstr("100/100"));
  EXPECT_THAT(output, Not(HasSubstr("150/100")));
  EXPECT_LE(std::count(output.begin(), output.end(), '#'), 4 * 25) << "drawn too often: " << output;
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1);
}

TEST(ProgressBarTest, SilentWhenShortDisabledDumbOrNotATerminal) {
  ::setenv("TERM", "xterm", 1);
  const auto start = std::chrono::steady_clock::now();
  const std::string output = Captured(true, [] { RunFor(0, true); });
  const bool was_short = std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100);
  EXPECT_TRUE(output.empty() || !was_short) << output;  // a busy machine may take its time
  EXPECT_THAT(Captured(true, [] { RunFor(150, false); }), IsEmpty());
  EXPECT_THAT(Captured(false, [] { RunFor(150, true); }), IsEmpty());
  ::setenv("TERM", "dumb", 1);
  EXPECT_THAT(Captured(true, [] { RunFor(150, true); }), IsEmpty());
}

TEST(ProgressBarTest, CountsFromManyThreads) {
  ::setenv("TERM", "xterm", 1);
  const std::string output = Captured(true, [] {
    ProgressBar bar("threads", -1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&bar] {
        for (int i = 0; i < 1000; ++i) bar.Add(2);
        std::this_thread::sleep_for(std::chrono::milliseconds(120));
        bar.Add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_THAT(output, HasSubstr("threads  6003  "));
}

}  // namespace
}  // namespace rutile
