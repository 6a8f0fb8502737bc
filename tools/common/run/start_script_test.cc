#include "tools/common/run/start_script.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(StartScriptTest, KnowsLoaders) {
  EXPECT_TRUE(IsLoader("/opt/rutile/lib/rutile/runtime/ld-linux-x86-64.so.2"));
  EXPECT_TRUE(IsLoader("ld-linux-aarch64.so.1"));
  EXPECT_FALSE(IsLoader("/opt/ld-linux/train"));
  EXPECT_FALSE(IsLoader(""));
}

// tools/packaging/bundle_test.sh has programs that a loader runs.
TEST(StartScriptTest, OrdinaryProgramIgnoresTheVariable) {
  ::setenv(kStartScriptVariable, "/no/such/train", 1);
  EXPECT_EQ(PathOfThisProgram(), "/proc/self/exe");
}

}  // namespace
}  // namespace rutile
