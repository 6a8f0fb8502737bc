#include "lib/tensorfile/torch_compat.h"

#include <iostream>
#include <sstream>

#include "gtest/gtest.h"

namespace rutile {
namespace {

struct OldContext {};
struct NewContext {
  void setDeterministicFillUninitializedMemory(bool on) { fills = on; }
  bool fills = true;
};

TEST(MemoryFillingTest, IsSwitchedOffWhereThereIsOne) {
  OldContext before;
  MemoryFilling<OldContext>::SwitchOff(&before);
  NewContext now;
  MemoryFilling<NewContext>::SwitchOff(&now);
  EXPECT_FALSE(now.fills);
}

TEST(SilentCoutTest, LosesWhatIsWrittenUntilTheLastHasGone) {
  std::ostringstream out;
  std::streambuf* const own = std::cout.rdbuf(out.rdbuf());
  std::cout << "before,";
  {
    const SilentCout first;
    std::cout << "first" << std::flush;
    { const SilentCout second; }
    std::cout << "still first";
  }
  std::cout << "after";
  std::cout.rdbuf(own);
  EXPECT_EQ(out.str(), "before,after");
}

}  // namespace
}  // namespace rutile
