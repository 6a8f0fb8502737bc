#include "lib/trace/peak_rss.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace rutile {
namespace {

TEST(PeakRssTest, GrowsWithMemoryThatIsUsedAndStaysWhenItIsGone) {
  const int64_t before = PeakRssBytes();
  EXPECT_GT(before, 0);
  constexpr int64_t kBytes = 64 << 20;
  {
    const auto memory = std::make_unique<char[]>(kBytes);
    std::memset(memory.get(), static_cast<int>(before % 100) + 1, kBytes);
    EXPECT_NE(memory[kBytes / 2], 0);
  }
  EXPECT_GT(PeakRssBytes(), before + kBytes / 2);
}

}  // namespace
}  // namespace rutile
