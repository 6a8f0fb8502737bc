#include "lib/machine/machine.h"

#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(MachineTest, CpuModel) {
  EXPECT_EQ(CpuModel("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Fast CPU @ 2.6 GHz\nflags : x\n"),
            "Fast CPU @ 2.6 GHz");
  EXPECT_EQ(CpuModel("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"), "POWER9, altivec supported");
  EXPECT_EQ(CpuModel("processor : 0\nBogoMIPS : 50.00\n"), "");
  EXPECT_EQ(CpuModel(""), "");
}

TEST(MachineTest, ThisOne) {
  const Machine machine = DescribeMachine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.processors, 1);
  EXPECT_GE(machine.usable_processors, 1);
  EXPECT_LE(machine.usable_processors, machine.processors);
  EXPECT_GT(machine.memory_bytes, int64_t{1} << 20);
  EXPECT_THAT(machine.kernel, StartsWith("Linux "));
  EXPECT_THAT(machine.instruction_set, Not(HasSubstr("Unknown")));
  EXPECT_THAT(CompilerName(), AnyOf(StartsWith("gcc "), StartsWith("clang ")));
}

TEST(MachineTest, NamesNoMachine) {
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  if (std::string(host).size() < 4) return;  // would be found anywhere
  const Machine machine = DescribeMachine();
  EXPECT_THAT(machine.kernel, Not(HasSubstr(host)));
  EXPECT_THAT(machine.cpu, Not(HasSubstr(host)));
}

}  // namespace
}  // namespace rutile
