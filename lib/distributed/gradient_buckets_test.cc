#include "lib/distributed/gradient_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kBytes = 8192;  // size of a bucket

// A single process that records which sums were requested: where each begins, and its size.
class Recorder : public Communicator {
 public:
  explicit Recorder(const Tensor& gradient) : data_(gradient.values<float>().data()) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  absl::Status Sum(absl::Span<double> values) override { return absl::OkStatus(); }
  absl::Status Sum(Tensor* values) override { return absl::OkStatus(); }
  void StartSum(Tensor values) override {
    started.emplace_back(values.values<float>().data() - data_, values.num_elements());
  }
  absl::Status FinishSums() override { return absl::UnavailableError("gone"); }
  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) override {
    return std::vector<std::string>{std::string(own)};
  }

  std::vector<std::pair<int64_t, int64_t>> started;

 private:
  const float* const data_;
};

TEST(GradientBucketsTest, StartInAFixedOrderAsSoonAsTheyAreFinished) {
  const int64_t n = kBytes / 4, size = 5 * n;
  Tensor gradient = Tensor::Zeros(DType::kF32, {size});
  Recorder recorder(gradient);
  // The early ranges are a bucket and a half from n on, and a quarter at the end.
  GradientBuckets buckets(&recorder, DType::kF32, size, {{n, n * 5 / 2}, {size - n / 4, size}}, kBytes);
  buckets.Begin(gradient);
  buckets.Finish({n, n + 7});
  buckets.Finish({size - n / 4, size});  // its turn has not come
  EXPECT_THAT(recorder.started, IsEmpty());
  buckets.Finish({n + 7, 2 * n + 1});
  EXPECT_THAT(recorder.started, ElementsAre(std::pair(n, n)));
  buckets.Finish({2 * n + 1, n * 5 / 2});
  EXPECT_EQ(recorder.started.size(), 3u);
  buckets.StartRest(gradient);
  EXPECT_THAT(recorder.started, ElementsAre(std::pair(n, n), std::pair(2 * n, n / 2), std::pair(size - n / 4, n / 4),
                                            std::pair<int64_t, int64_t>(0, n), std::pair(n * 5 / 2, n),
                                            std::pair(n * 7 / 2, n), std::pair(n * 9 / 2, n / 4)));
  EXPECT_EQ(buckets.Complete(&gradient), absl::UnavailableError("gone"));
  // The next step starts from the beginning. Frozen parameters are left out, even if a task announces them.
  recorder.started.clear();
  buckets.SetFrozen({{0, n}, {n * 3 / 2, size - n / 4 + 5}});
  buckets.Begin(gradient);
  buckets.Finish({n, n * 5 / 2});
  EXPECT_THAT(recorder.started, ElementsAre(std::pair(n, n / 2)));
  buckets.StartRest(gradient);
  EXPECT_THAT(recorder.started, ElementsAre(std::pair(n, n / 2), std::pair(size - n / 4 + 5, n / 4 - 5)));
}

TEST(GradientBucketsDeathTest, FinishedTwice) {
  Tensor gradient = Tensor::Zeros(DType::kF32, {10});
  Recorder recorder(gradient);
  GradientBuckets buckets(&recorder, DType::kF32, 10, {{0, 5}, {5, 10}}, kBytes);
  buckets.Begin(gradient);
  buckets.Finish({5, 8});
  EXPECT_DEATH(buckets.Finish({7, 10}), "finished twice");
}

// Returns the value of rank r at position i. Sums of these values round.
template <typename T>
T Value(int rank, int64_t i) {
  return static_cast<T>(0.1 * static_cast<double>(i % 1013 + 1) * (rank % 2 == 0 ? 1 : -1.3) + rank);
}

// Returns the sum in each rank. Ranks announce everything in pieces, a part, or nothing, as `announces` says.
template <typename T>
std::vector<std::vector<T>> Sums(const std::vector<int>& announces, int64_t size, absl::Span<const GradientRange> early,
                                 absl::Span<const GradientRange> frozen, bool later) {
  std::vector<std::vector<T>> sums(announces.size());
  RunAsThreads(static_cast<int>(announces.size()), [&](Communicator* communicator) {
    const int rank = communicator->rank();
    GradientBuckets buckets(communicator, DTypeOf<T>(), size, {early.begin(), early.end()}, kBytes);
    buckets.SetFrozen(frozen);
    Tensor gradient = Tensor::Zeros(DTypeOf<T>(), {size});
    const absl::Span<T> values = gradient.mutable_values<T>();
    RandomStream stream(rank, "pieces");
    for (int step = 0; step < 2; ++step) {
      for (int64_t i = 0; i < size; ++i) values[i] = Value<T>(rank + step, i);
      for (const GradientRange& range : frozen) {
        std::fill(values.begin() + range.begin, values.begin() + range.end, std::numeric_limits<T>::quiet_NaN());
      }
      if (announces[rank] > 0) {
        buckets.Begin(gradient);
        for (const GradientRange& range : early) {
          for (int64_t begin = range.begin; begin < range.end;) {
            const int64_t end = std::min<int64_t>(begin + 1 + stream.Uniform() * 1500, range.end);
            if (announces[rank] == 1 && end > size / 2) break;
            buckets.Finish({begin, end});
            begin = end;
          }
        }
        if (later) {
          buckets.AddLater({3, early[0].begin, 3}, Tensor::Of<T>(std::vector<T>(6, T(1)), {3, 2}));
          buckets.AddLater({size - 3}, Tensor::Of<T>({T(1), T(2), T(rank)}, {1, 3}));
        }
      }
      buckets.StartRest(gradient);
      ASSERT_EQ(buckets.Complete(&gradient), absl::OkStatus());
    }
    sums[rank].assign(values.begin(), values.end());
  });
  return sums;
}

template <typename T>
void ExpectSameBits() {
  const int64_t size = kBytes / sizeof(T) * 9 / 2 + 77;
  const std::vector<GradientRange> early = {{100, size - 700}, {size - 50, size}};
  const std::vector<GradientRange> frozen = {{40, 120}, {size - 30, size - 20}};
  const auto expected = Sums<T>({0, 0, 0}, size, early, frozen, /*later=*/false);
  for (const std::vector<int>& announces : {std::vector<int>{2, 2, 2}, {2, 0, 1}, {0, 1, 2}}) {
    const auto found = Sums<T>(announces, size, early, frozen, /*later=*/false);
    for (size_t rank = 0; rank < found.size(); ++rank) {
      for (int64_t i = 0; i < size; ++i) {
        const bool rests = (i >= 40 && i < 120) || (i >= size - 30 && i < size - 20);
        ASSERT_TRUE(rests ? std::isnan(found[rank][i]) : found[rank][i] == expected[0][i]) << rank << " " << i;
      }
    }
  }
  for (int64_t i : {int64_t{0}, size / 2, size - 1}) {
    T sum = 0;
    for (int rank = 0; rank < 3; ++rank) sum += Value<T>(rank + 1, i);
    EXPECT_NEAR(expected[0][i], sum, 1e-4);
  }
}

TEST(GradientBucketsTest, SameBitsWhoeverAnnounces) {
  ExpectSameBits<float>();
  ExpectSameBits<double>();
}

TEST(GradientBucketsTest, RowsForLaterOfAllRanks) {
  const int64_t size = 1000;
  const std::vector<GradientRange> early = {{10, 900}};
  const auto without = Sums<double>({2, 0, 2, 2}, size, early, {}, /*later=*/false);
  const auto with = Sums<double>({2, 0, 2, 2}, size, early, {}, /*later=*/true);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(with[rank], with[0]);
    std::vector<double> expected = without[0];
    for (const int64_t i : {3, 4, 3, 4, 10, 11}) expected[i] += 3;
    expected[size - 3] += 3;
    expected[size - 2] += 6;
    expected[size - 1] += 0 + 2 + 3;
    for (int64_t i = 0; i < size; ++i) EXPECT_NEAR(with[rank][i], expected[i], 1e-12) << i;
  }
}

}  // namespace
}  // namespace rutile
