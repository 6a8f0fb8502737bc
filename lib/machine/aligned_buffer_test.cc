#include "lib/machine/aligned_buffer.h"

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

template <typename T>
bool IsAligned(const AlignedBuffer<T>& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % kBufferAlignment == 0;
}

static_assert(!std::is_copy_constructible_v<AlignedBuffer<float>>);
static_assert(!std::is_copy_assignable_v<AlignedBuffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<AlignedBuffer<float>>);

TEST(AlignedBufferTest, EmptyHasNoMemory) {
  AlignedBuffer<double> buffer;
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_EQ(buffer.data(), nullptr);
  buffer.Resize(0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.Take(0), nullptr);
}

TEST(AlignedBufferTest, NoElementsHaveAnAddress) {
  EXPECT_NE(AlignedBuffer<char>(0).data(), nullptr);
  EXPECT_NE(AlignedBuffer<char>::Zeros(0).data(), nullptr);
}

// Each size is written as a whole, so that sanitizers see memory that is too short.
TEST(AlignedBufferTest, EverySizeIsAligned) {
  std::vector<AlignedBuffer<float>> all;
  for (int64_t size = 0; size < 100; ++size) {
    all.emplace_back(size);
    EXPECT_TRUE(IsAligned(all.back())) << size;
    EXPECT_EQ(all.back().size(), size);
    for (int64_t i = 0; i < size; ++i) all.back()[i] = static_cast<float>(size);
  }
  for (int64_t size = 0; size < 100; ++size) {
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(all[size][i], static_cast<float>(size));
  }
}

TEST(AlignedBufferTest, ZerosAreZero) {
  // Memory that is used again has old values.
  { AlignedBuffer<int32_t>(1000).Resize(1000); }
  const AlignedBuffer<int32_t> zeros = AlignedBuffer<int32_t>::Zeros(1000);
  EXPECT_TRUE(IsAligned(zeros));
  for (int64_t i = 0; i < zeros.size(); ++i) ASSERT_EQ(zeros[i], 0);
}

TEST(AlignedBufferTest, ResizePreservesElements) {
  AlignedBuffer<uint16_t> buffer;
  for (int64_t size = 1; size <= 300; ++size) {
    buffer.Resize(size);
    ASSERT_TRUE(IsAligned(buffer));
    ASSERT_EQ(buffer.size(), size);
    buffer[size - 1] = static_cast<uint16_t>(size);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(buffer[i], i + 1);
  }
  const uint16_t* const memory = buffer.data();
  buffer.Resize(3);
  EXPECT_EQ(buffer.size(), 3);
  buffer.Resize(300);  // memory does not shrink
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_EQ(buffer[299], 300);
}

TEST(AlignedBufferTest, TakeReusesMemory) {
  AlignedBuffer<uint32_t> buffer;
  uint32_t* const memory = buffer.Take(100);
  EXPECT_TRUE(IsAligned(buffer));
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(memory[i], 0u);
    memory[i] = 7;
  }
  EXPECT_EQ(buffer.Take(10), memory);
  EXPECT_EQ(buffer.size(), 10);
  EXPECT_EQ(buffer.Take(100), memory);
  const uint32_t* const larger = buffer.Take(101);
  for (int64_t i = 0; i < 101; ++i) ASSERT_EQ(larger[i], 0u);
}

TEST(AlignedBufferTest, MovesItsMemory) {
  AlignedBuffer<double> from = AlignedBuffer<double>::Zeros(8);
  from[7] = 3;
  const double* const memory = from.data();
  AlignedBuffer<double> to(std::move(from));
  EXPECT_EQ(to.data(), memory);
  EXPECT_EQ(to.size(), 8);
  EXPECT_EQ(from.size(), 0);        // NOLINT(bugprone-use-after-move): this is what the test is about
  EXPECT_EQ(from.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  from.Resize(2);                   // It allocates anew, as its capacity has moved, too.
  EXPECT_NE(from.data(), nullptr);
  from = std::move(to);
  EXPECT_EQ(from.data(), memory);
  EXPECT_EQ(from[7], 3);
  EXPECT_EQ(to.Take(1)[0], 0);  // NOLINT(bugprone-use-after-move)
}

// Sanitizers end a program that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(AlignedBufferTest, ThrowsWhenMemoryIsUsedUp) {
  EXPECT_THROW(AlignedBuffer<char>(int64_t{1} << 62), std::bad_alloc);
  AlignedBuffer<char> kept(3);
  EXPECT_THROW(kept.Take(int64_t{1} << 62), std::bad_alloc);
  EXPECT_EQ(kept.size(), 3);
}
#endif

TEST(AlignedBufferDeathTest, RefusesImpossibleSizes) {
  EXPECT_DEATH(AlignedBuffer<double>(-1), "size >= 0");
  EXPECT_DEATH(AlignedBuffer<double>(int64_t{1} << 61), "more than 2\\^63 bytes");
}

}  // namespace
}  // namespace rutile
