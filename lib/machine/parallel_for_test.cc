#include "lib/machine/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/few_threads.h"

namespace rutile {
namespace {

using Pieces = std::vector<std::pair<int64_t, int64_t>>;

// Returns the ranges of one call, sorted, and checks the workers' numbers.
Pieces PiecesOf(ThreadPool* pool, int64_t n, int64_t grain) {
  std::mutex mutex;
  Pieces pieces;
  pool->For(n, grain, [&](int64_t begin, int64_t end, int worker) {
    EXPECT_GE(worker, 0);
    EXPECT_LT(worker, pool->num_threads());
    const std::lock_guard<std::mutex> lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

class ThreadPoolTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3));

TEST_P(ThreadPoolTest, PiecesDependOnlyOnSizeAndGrain) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.num_threads(), GetParam());
  for (const int64_t n : {0, 1, 2, 9, 10, 11, 100, 1001}) {
    for (const int64_t grain : {1, 3, 10, 5000}) {
      Pieces expected;
      for (int64_t begin = 0; begin < n; begin += grain) expected.emplace_back(begin, std::min(n, begin + grain));
      EXPECT_EQ(PiecesOf(&pool, n, grain), expected) << n << " by " << grain;
    }
  }
}

TEST_P(ThreadPoolTest, ManyCallsSeeTheWholeWork) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(64);
  for (int call = 1; call <= 5000; ++call) {
    // The counter is not atomic, so that a call that returned early would race with the check.
    pool.For(values.size(), 5, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) values[i] += i;
    });
    ASSERT_EQ(values[63], 63 * call);
  }
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], 5000 * i);
}

// Tests that sleeping threads, and threads about to sleep, wake up.
TEST_P(ThreadPoolTest, CallsAfterAPause) {
  ThreadPool pool(GetParam());
  for (int call = 0; call < 200; ++call) {
    std::this_thread::sleep_for(std::chrono::microseconds(call % 2 == 0 ? 1000 : call));
    std::atomic<int> pieces{0};
    pool.For(8, 1, [&](int64_t, int64_t, int) {
      if (call % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      ++pieces;
    });
    ASSERT_EQ(pieces, 8);
  }
}

TEST_P(ThreadPoolTest, AWorkerRunsOnePieceAtATime) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> inside(GetParam());
  pool.For(1000, 1, [&](int64_t, int64_t, int worker) {
    EXPECT_EQ(inside[worker].fetch_add(1), 0);
    std::this_thread::yield();
    inside[worker].fetch_sub(1);
  });
}

// Sums each range, and adds the sums in the order of ranges: the same bits with any number of threads.
TEST_P(ThreadPoolTest, SumsPerPieceHaveTheSameBits) {
  const auto sum = [](int num_threads) {
    ThreadPool pool(num_threads);
    std::vector<double> partial(100);
    pool.For(10000, 100, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) partial[begin / 100] += 1.0 / (1 + i);
    });
    double total = 0;
    for (const double x : partial) total += x;
    return total;
  };
  EXPECT_EQ(sum(GetParam()), sum(1));
}

// Whichever thread runs out of memory, the caller hears of it, and the pool works on.
TEST_P(ThreadPoolTest, ExceptionsComeToTheCaller) {
  ThreadPool pool(GetParam());
  for (int64_t failing = 0; failing < 100; ++failing) {
    std::atomic<int64_t> done{0};
    EXPECT_THROW(pool.For(100, 1,
                          [&](int64_t begin, int64_t, int) {
                            if (begin == failing) throw std::bad_alloc();
                            ++done;
                          }),
                 std::bad_alloc);
    EXPECT_LE(done, 99);
  }
  EXPECT_THROW(pool.For(100, 1, [](int64_t, int64_t, int) { throw std::length_error("all of them"); }),
               std::length_error);
  std::atomic<int64_t> done{0};
  pool.For(100, 1, [&](int64_t, int64_t, int) { ++done; });
  EXPECT_EQ(done, 100);
}

// Where some or all of 64 threads cannot be started, loops run on those there are, and threads end with the pool.
TEST(ThreadPoolLimitTest, GoesOnWithTheThreadsThatThereAre) {
  if (!FewThreads::kWorks) GTEST_SKIP() << "the memory of sanitizers exceeds any limit";
  std::vector<int64_t> square(1000);
  {
    const FewThreads limit;
    for (int pass = 0; pass < 3; ++pass) {
      ThreadPool pool(64);
      EXPECT_EQ(pool.num_threads(), 64);
      pool.For(1000, 1, [&](int64_t begin, int64_t, int worker) {
        EXPECT_LT(worker, 64);
        square[begin] = begin * begin + pass;
      });
      for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(square[i], i * i + pass);
    }
  }
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  pool.For(100, 1, [&](int64_t begin, int64_t, int) { sum += begin; });
  EXPECT_EQ(sum, 4950);
}

TEST(ThreadPoolDeathTest, Misuse) {
  EXPECT_DEATH(ThreadPool(0), "");
  ThreadPool pool(1);
  EXPECT_DEATH(pool.For(1, 0, [](int64_t, int64_t, int) {}), "");
}

TEST(AvailableProcessorsTest, AtLeastOneAndNoMoreThanThereAre) {
  EXPECT_GE(AvailableProcessors(), 1);
  EXPECT_LE(AvailableProcessors(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace rutile
