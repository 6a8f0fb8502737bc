#include "lib/machine/amx_permission.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "lib/machine/cpu_bf16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define RUTILE_AMX __attribute__((target("amx-tile")))
#endif

namespace rutile {
namespace {

// A signal stack without room for the registers: the kernel refuses AMX. This test must be the first, because a process
// that has the permission passes it on to its children.
TEST(AmxIsPermittedTest, ARefusalIsAnAnswer) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static char memory[4096];
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = sizeof(memory);
    if (sigaltstack(&stack, nullptr) != 0) _exit(0);  // too small even for the other registers
    _exit(AmxIsPermitted() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
// Without permission this program would end with SIGILL.
RUTILE_AMX void UseTiles() {
  struct alignas(64) Config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } config = {};
  config.palette = 1;
  config.bytes[0] = 64;
  config.rows[0] = 16;
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_release();
}

TEST(AmxIsPermittedTest, AllThreadsMayUseTiles) {
  if (!AmxIsPermitted()) GTEST_SKIP() << "no AMX: " << CpuBf16Instructions();
  UseTiles();
  std::thread(UseTiles).join();
}
#endif

TEST(AmxIsPermittedTest, NeedsTheInstructionsAndAnswersTheSameAgain) {
  const bool permitted = AmxIsPermitted();
  EXPECT_TRUE(!permitted || CpuBf16Instructions() == "AMX-BF16");
  EXPECT_EQ(AmxIsPermitted(), permitted);
}

}  // namespace
}  // namespace rutile
