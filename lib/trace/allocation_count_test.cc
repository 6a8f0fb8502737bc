#include "lib/trace/allocation_count.h"

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

using profile_internal::thread_allocations;

// A variable that prevents the compiler from removing allocations.
template <typename T>
void Keep(T* value) {
  asm volatile("" : : "g"(value) : "memory");
}

class AllocationCountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!profile_internal::allocations_are_counted) GTEST_SKIP() << "a sanitizer has its own operator new";
  }
};

TEST_F(AllocationCountTest, CountsEachForm) {
  struct alignas(256) Wide {
    char bytes[300];
  };
  const int64_t before = thread_allocations;
  const auto one = std::make_unique<int>(1);
  Keep(one.get());
  EXPECT_EQ(thread_allocations - before, 1);
  const std::unique_ptr<char[]> many(new char[100]);
  Keep(many.get());
  EXPECT_EQ(thread_allocations - before, 2);
  const std::unique_ptr<Wide> wide(new Wide);
  Keep(wide.get());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.get()) % 256, 0);
  EXPECT_EQ(thread_allocations - before, 3);
  int* const without_throw = new (std::nothrow) int;
  Keep(without_throw);
  EXPECT_EQ(thread_allocations - before, 4);
  delete without_throw;
  EXPECT_EQ(thread_allocations - before, 4) << "giving back is not counted";
  std::thread([] { EXPECT_GT(thread_allocations, -1); }).join();
}

TEST_F(AllocationCountTest, TooMuchThrows) {
  size_t size = SIZE_MAX / 4;
  Keep(&size);
  EXPECT_THROW(Keep(::operator new(size)), std::bad_alloc);
  EXPECT_EQ(::operator new(size, std::nothrow), nullptr);
}

// An allocation belongs to the innermost scope at its time, in each thread.
TEST_F(AllocationCountTest, OfStages) {
  const auto allocate = [](int n) {
    for (int i = 0; i < n; ++i) Keep(std::make_unique<int>(i).get());
  };
  StartProfile({});
  for (int call = 0; call < 3; ++call) {
    const ProfileScope step(Stage::kStep);
    allocate(5);
    {
      const ProfileScope forward(Stage::kForward);
      allocate(70);
    }
    allocate(2);
  }
  { const ProfileScope none(Stage::kBackward); }
  std::thread([&] {
    SetProfileThreadName("helper");
    allocate(1000);  // before its first scope: charged to no place
    const ProfileScope scope(Stage::kMakeBatch);
    allocate(11);
  }).join();
  allocate(13);
  const ProfileData data = StopProfile();
  const auto of = [&](const std::string& path) {
    for (const ProfileStage& stage : data.stages) {
      if (stage.path == path) return stage.allocations;
    }
    return int64_t{-2};
  };
  EXPECT_EQ(of("step"), 21);
  EXPECT_EQ(of("step/forward"), 210);
  EXPECT_EQ(of("backward"), 0);
  EXPECT_EQ(of("make_batch"), 11);
  EXPECT_GE(of("other"), 13);  // includes the thread's own
  EXPECT_LT(of("other"), 40);
}

}  // namespace
}  // namespace rutile
