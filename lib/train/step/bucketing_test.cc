#include "lib/train/step/bucketing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/base/random.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::ElementsAreArray;

// A task whose examples cost 1 to 50 atoms, in no order.
class SizedTask : public ToyTask {
 public:
  SizedTask() : ToyTask(ToyTaskOptions{}) {}
  double ExampleCost(int64_t example) const override { return static_cast<double>(1 + example * 37 % 50); }
};

std::vector<int64_t> Shuffled(int64_t n) { return RandomPermutation(n, RandomStream(1, "test")); }

std::vector<int64_t> Bucketed(std::vector<int64_t> examples, int64_t batch_size, int64_t window, uint64_t epoch = 0) {
  BucketByCost(SizedTask(), batch_size, window, RandomStream(3, "bucket", epoch), &examples);
  return examples;
}

// Returns the mean over whole batches of the largest less the smallest cost.
double Spread(const std::vector<int64_t>& examples, int64_t batch_size) {
  const SizedTask task;
  double sum = 0;
  int64_t batches = 0;
  for (size_t begin = 0; begin + batch_size <= examples.size(); begin += batch_size, ++batches) {
    std::vector<double> cost;
    for (int64_t i = 0; i < batch_size; ++i) cost.push_back(task.ExampleCost(examples[begin + i]));
    sum += *std::max_element(cost.begin(), cost.end()) - *std::min_element(cost.begin(), cost.end());
  }
  return sum / static_cast<double>(batches);
}

TEST(BucketingTest, EveryExampleOnceForAnySizes) {
  for (const int64_t n : {0, 1, 7, 8, 9, 64, 1003}) {
    for (const int64_t window : {1, 3, 1000}) {
      std::vector<int64_t> all = Bucketed(Shuffled(n), 8, window), expected(n);
      std::sort(all.begin(), all.end());
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected) << n << " in windows of " << window;
    }
  }
}

TEST(BucketingTest, RepeatedExamplesStayRepeated) {
  std::vector<int64_t> drawn = {5, 5, 5, 1, 2, 5, 9, 9, 3};
  std::vector<int64_t> bucketed = Bucketed(drawn, 4, 2);
  EXPECT_EQ(bucketed.back(), 3);
  std::sort(drawn.begin(), drawn.end());
  std::sort(bucketed.begin(), bucketed.end());
  EXPECT_EQ(bucketed, drawn);
}

// 100 batches of 10: sizes differ by 45 in a random one, by half the window's step in a sorted one.
TEST(BucketingTest, BatchesAreOfLikeSizes) {
  const std::vector<int64_t> random = Shuffled(1000);
  EXPECT_GT(Spread(random, 10), 30);
  EXPECT_EQ(Spread(Bucketed(random, 10, 1), 10), Spread(random, 10));
  EXPECT_LT(Spread(Bucketed(random, 10, 10), 10), 6);
  EXPECT_LT(Spread(Bucketed(random, 10, 50), 10), 2);
  EXPECT_LT(Spread(Bucketed(random, 10, 1000), 10), 1);
}

// A window takes no example from another one, and the incomplete last batch keeps its examples.
TEST(BucketingTest, WindowsAndRemainderKeepTheirExamples) {
  const std::vector<int64_t> random = Shuffled(109);
  const std::vector<int64_t> bucketed = Bucketed(random, 10, 5);
  EXPECT_THAT(std::vector<int64_t>(bucketed.begin() + 100, bucketed.end()),
              ElementsAreArray(random.begin() + 100, random.end()));
  int first_window = 0;
  for (int batch = 0; batch < 10; ++batch) {
    int from_first = 0;
    for (int i = 0; i < 10; ++i) {
      from_first += std::find(random.begin(), random.begin() + 50, bucketed[10 * batch + i]) != random.begin() + 50;
    }
    EXPECT_TRUE(from_first == 0 || from_first == 10) << from_first;
    first_window += from_first == 10;
  }
  EXPECT_EQ(first_window, 5);
}

// Otherwise small structures would be learned first in every epoch.
TEST(BucketingTest, BatchesComeInRandomOrder) {
  const SizedTask task;
  const std::vector<int64_t> random = Shuffled(1000);
  std::vector<double> mean(100, 0.0);  // cost of the batch in that place, over epochs
  constexpr int kEpochs = 200;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> bucketed = Bucketed(random, 10, 1000, epoch);
    for (size_t i = 0; i < bucketed.size(); ++i) mean[i / 10] += task.ExampleCost(bucketed[i]) / (10.0 * kEpochs);
  }
  // Costs are uniform on 1 .. 50: deviation 14.4 of a batch, 1.02 of the mean over epochs; five of these.
  for (const double value : mean) EXPECT_NEAR(value, 25.5, 5.1);
}

TEST(BucketingDeathTest, RefusesNoWindow) {
  std::vector<int64_t> examples = {1, 2};
  EXPECT_DEATH(BucketByCost(SizedTask(), 1, 0, RandomStream(1, "bucket"), &examples), "1 and 0");
  EXPECT_DEATH(BucketByCost(SizedTask(), 0, 1, RandomStream(1, "bucket"), &examples), "0 and 1");
}

}  // namespace
}  // namespace rutile
