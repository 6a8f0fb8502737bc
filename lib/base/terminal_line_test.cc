#include "lib/base/terminal_line.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

// Makes standard error a terminal of a given width while the object lives.
class FakeTerminal {
 public:
  explicit FakeTerminal(unsigned short columns) : saved_(::dup(STDERR_FILENO)) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_TRUE(master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    winsize size = {};
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(slave_, TIOCSWINSZ, &size), 0);
    ::dup2(slave_, STDERR_FILENO);
  }
  ~FakeTerminal() {
    Restore();
    ::close(master_);
  }
  // Returns the bytes written, and restores standard error.
  std::string Output() {
    Restore();
    std::string output;
    char buffer[4096];
    for (ssize_t size; (size = ::read(master_, buffer, sizeof(buffer))) > 0;) output.append(buffer, size);
    return output;
  }

 private:
  void Restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    ::close(slave_);
    saved_ = -1;
  }
  int saved_, master_ = -1, slave_ = -1;
};

TEST(TerminalLineTest, DrawsOverTheLineWithinTheWidth) {
  ::setenv("TERM", "xterm", 1);
  FakeTerminal terminal(20);
  EXPECT_TRUE(CanDrawLines());
  EXPECT_EQ(TerminalLineWidth(), 19);
  DrawTerminalLine("0123456789012345678901234", "");
  DrawTerminalLine("short", "\n");
  EXPECT_EQ(terminal.Output(), "\r0123456789012345678\x1b[K\rshort\x1b[K\r\n");
}

TEST(TerminalLineTest, NotOnADumbTerminalOrInAFile) {
  {
    ::setenv("TERM", "dumb", 1);
    FakeTerminal terminal(80);
    EXPECT_FALSE(CanDrawLines());
  }
  ::setenv("TERM", "xterm", 1);
  const int saved = ::dup(STDERR_FILENO);
  const int file = ::open("/dev/null", O_WRONLY);
  ::dup2(file, STDERR_FILENO);
  const bool can = CanDrawLines();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  EXPECT_FALSE(can);
}

}  // namespace
}  // namespace rutile
