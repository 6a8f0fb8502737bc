#include "lib/train/step/data_loader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/few_threads.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNumExamples = 103;

std::vector<int64_t> Numbers(int64_t n) {
  std::vector<int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

ToyTask MakeTask(int64_t failing_example = -1) {
  ToyTaskOptions options;
  options.num_examples = kNumExamples;
  options.failing_example = failing_example;
  return ToyTask(options);
}

// Reads the examples and content of each batch in an epoch, from a given batch on.
struct Epoch {
  std::vector<std::vector<int64_t>> examples;
  std::vector<std::vector<double>> y;
};

Epoch ReadEpoch(DataLoader* loader, int64_t epoch, int64_t first_batch = 0, absl::Span<const double> weights = {}) {
  Epoch result;
  loader->StartEpoch(epoch, first_batch, weights);
  while (true) {
    const absl::StatusOr<const NamedTensors*> batch = loader->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || *batch == nullptr) return result;
    result.examples.emplace_back(loader->examples().begin(), loader->examples().end());
    result.y.push_back((*batch)->At("y").ToDoubles());
  }
}

std::vector<int64_t> Joined(const Epoch& epoch) {
  std::vector<int64_t> all;
  for (const auto& batch : epoch.examples) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

// Parameters: number of workers, and whether they are persistent.
class DataLoaderTest : public ::testing::TestWithParam<std::pair<int, bool>> {
 protected:
  DataLoaderOptions Options(bool shuffle = true) const {
    DataLoaderOptions options;
    options.batch_size = 10;
    options.shuffle = shuffle;
    options.num_workers = GetParam().first;
    options.persistent_workers = GetParam().second;
    return options;
  }
};

TEST_P(DataLoaderTest, EveryExampleOnceInEveryEpoch) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, Numbers(kNumExamples), Options());
  EXPECT_EQ(loader.num_batches(), 11);
  EXPECT_EQ(loader.num_examples(), kNumExamples);
  std::vector<int64_t> last;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Epoch read = ReadEpoch(&loader, epoch);
    ASSERT_EQ(read.examples.size(), 11u);
    EXPECT_EQ(read.examples.back().size(), 3u);
    std::vector<int64_t> all = Joined(read);
    EXPECT_NE(all, last);
    last = all;
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, Numbers(kNumExamples));
  }
}

TEST_P(DataLoaderTest, SameAsWithoutWorkers) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, Numbers(kNumExamples), Options());
  DataLoaderOptions plain = Options();
  plain.num_workers = 0;
  DataLoader reference(task, Numbers(kNumExamples), plain);
  for (const int epoch : {4, 0, 4}) {  // any order, any number of times
    const Epoch read = ReadEpoch(&loader, epoch), expected = ReadEpoch(&reference, epoch);
    EXPECT_EQ(read.examples, expected.examples);
    EXPECT_EQ(read.y, expected.y);
  }
}

TEST_P(DataLoaderTest, StartsInTheMiddle) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, Numbers(kNumExamples), Options());
  const Epoch whole = ReadEpoch(&loader, 2);
  const Epoch rest = ReadEpoch(&loader, 2, 7);
  EXPECT_EQ(rest.y, std::vector<std::vector<double>>(whole.y.begin() + 7, whole.y.end()));
  EXPECT_TRUE(ReadEpoch(&loader, 2, 11).y.empty());
}

// The order, the batches and their number stay those of all examples; batches only lack those left out.
TEST_P(DataLoaderTest, LeavesExamplesOut) {
  const ToyTask task = MakeTask();
  std::vector<uint8_t> left_out(kNumExamples);
  for (int64_t i = 0; i < kNumExamples; ++i) left_out[i] = i % 3 == 0 ? 0 : 1;
  DataLoaderOptions options = Options();
  options.batch_size = 2;  // some batches lose both
  DataLoader whole(task, Numbers(kNumExamples), options);
  options.left_out = left_out;
  DataLoader loader(task, Numbers(kNumExamples), options);
  EXPECT_EQ(loader.num_batches(), 52);
  for (int epoch = 0; epoch < 2; ++epoch) {
    Epoch expected = ReadEpoch(&whole, epoch);
    int empty = 0;
    for (std::vector<int64_t>& batch : expected.examples) {
      batch.erase(std::remove_if(batch.begin(), batch.end(), [&](int64_t i) { return left_out[i] != 0; }), batch.end());
      empty += batch.empty() ? 1 : 0;
    }
    EXPECT_GT(empty, 0);
    loader.StartEpoch(epoch);
    for (const std::vector<int64_t>& batch : expected.examples) {
      const absl::StatusOr<const NamedTensors*> next = loader.Next();
      ASSERT_TRUE(next.ok()) << next.status();
      EXPECT_EQ(std::vector<int64_t>(loader.examples().begin(), loader.examples().end()), batch);
      EXPECT_EQ(std::vector<int64_t>(loader.all_examples().begin(), loader.all_examples().end()), batch);
      if (batch.empty()) continue;
      EXPECT_EQ((*next)->At("y").num_elements(), static_cast<int64_t>(batch.size()));
    }
    EXPECT_EQ(*loader.Next(), nullptr);
  }
}

TEST_P(DataLoaderTest, DropsAnEpochHalfway) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, Numbers(kNumExamples), Options());
  const Epoch expected = ReadEpoch(&loader, 1);
  for (int i = 0; i < 50; ++i) {
    loader.StartEpoch(0);
    for (int b = 0; b < i % 4; ++b) ASSERT_TRUE(loader.Next().ok());
  }
  EXPECT_EQ(ReadEpoch(&loader, 1).y, expected.y);
}

TEST_P(DataLoaderTest, OrderGivenWithoutShuffle) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, {5, 3, 99, 0, 7, 7, 1, 2, 4, 6, 8, 9}, Options(false));
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_THAT(Joined(ReadEpoch(&loader, epoch)), ElementsAre(5, 3, 99, 0, 7, 7, 1, 2, 4, 6, 8, 9));
  }
}

TEST_P(DataLoaderTest, ErrorsComeAtTheirBatch) {
  const ToyTask task = MakeTask(/*failing_example=*/35);
  DataLoader loader(task, Numbers(kNumExamples), Options(false));
  loader.StartEpoch(0);
  for (int b = 0; b < 3; ++b) ASSERT_TRUE(loader.Next().ok());
  EXPECT_THAT(std::string(loader.Next().status().message()), HasSubstr("toy example 35"));
  EXPECT_TRUE(loader.Next().ok());  // and no further
}

// A task that runs out of memory at an example.
class LargeTask : public ToyTask {
 public:
  using ToyTask::ToyTask;
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    if (std::find(examples.begin(), examples.end(), large) != examples.end()) throw std::bad_alloc();
    return ToyTask::MakeBatch(examples, batch);
  }
  int64_t large = -1;
};

TEST_P(DataLoaderTest, UsedUpMemoryIsHeardOfAtItsBatch) {
  LargeTask task(ToyTaskOptions{});
  task.large = 25;
  DataLoader loader(task, Numbers(40), Options(false));
  for (int epoch = 0; epoch < 2; ++epoch) {
    loader.StartEpoch(epoch);
    for (int b = 0; b < 2; ++b) ASSERT_TRUE(loader.Next().ok());
    EXPECT_THROW(static_cast<void>(loader.Next()), std::bad_alloc);
  }
  task.large = -1;
  EXPECT_EQ(Joined(ReadEpoch(&loader, 2)), Numbers(40));
}

// Where some or all of 64 workers cannot be started, batches are the same, and the loader ends as usual.
TEST(DataLoaderLimitTest, GoesOnWithTheWorkersThatThereAre) {
  if (!FewThreads::kWorks) GTEST_SKIP() << "the memory of sanitizers exceeds any limit";
  const ToyTask task = MakeTask();
  DataLoaderOptions options;
  options.batch_size = 10;
  DataLoader plain(task, Numbers(kNumExamples), options);
  options.num_workers = 64;
  options.prefetch_factor = 1;
  for (const bool persistent : {true, false}) {
    options.persistent_workers = persistent;
    const FewThreads limit;
    DataLoader loader(task, Numbers(kNumExamples), options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const Epoch expected = ReadEpoch(&plain, epoch), found = ReadEpoch(&loader, epoch);
      EXPECT_EQ(found.examples, expected.examples);
      EXPECT_EQ(found.y, expected.y);
    }
  }
}

TEST_P(DataLoaderTest, NothingToLoad) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, {}, Options());
  EXPECT_EQ(loader.num_batches(), 0);
  EXPECT_TRUE(ReadEpoch(&loader, 0).y.empty());
}

TEST_P(DataLoaderTest, WeightsDecideWhatIsDrawn) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, {20, 21, 22, 23, 24, 25}, Options());
  const std::vector<double> weights = {0, 1, 0, 3, 0, 0};  // those of the ends and of neighbors are 0
  std::map<int64_t, int> times;
  for (int epoch = 0; epoch < 200; ++epoch) {
    const std::vector<int64_t> drawn = Joined(ReadEpoch(&loader, epoch, 0, weights));
    EXPECT_EQ(drawn.size(), 6u);
    for (const int64_t example : drawn) ++times[example];
  }
  EXPECT_EQ(times.size(), 2u);
  EXPECT_NEAR(times[23], 900, 4 * std::sqrt(1200 * 0.75 * 0.25));  // four standard deviations
  // Without weights each example comes once.
  std::vector<int64_t> all = Joined(ReadEpoch(&loader, 0));
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAre(20, 21, 22, 23, 24, 25));
}

TEST_P(DataLoaderTest, WeightedEpochsAreTheSameForAnyWorkersAndFromTheMiddle) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, Numbers(kNumExamples), Options());
  DataLoaderOptions plain = Options();
  plain.num_workers = 0;
  DataLoader reference(task, Numbers(kNumExamples), plain);
  std::vector<double> weights;
  for (int64_t i = 0; i < kNumExamples; ++i) weights.push_back(1.0 / static_cast<double>(1 + i));
  const Epoch expected = ReadEpoch(&reference, 3, 0, weights);
  const Epoch whole = ReadEpoch(&loader, 3, 0, weights), rest = ReadEpoch(&loader, 3, 4, weights);
  EXPECT_EQ(whole.examples, expected.examples);
  EXPECT_EQ(whole.y, expected.y);
  EXPECT_EQ(rest.y, std::vector<std::vector<double>>(whole.y.begin() + 4, whole.y.end()));
  EXPECT_NE(ReadEpoch(&loader, 2, 0, weights).examples, whole.examples);
}

// Bucketed batches contain each example once, and are the same for any workers, from the middle, and with weights.
class SizedTask : public ToyTask {
 public:
  SizedTask() : ToyTask(Options()) {}
  double ExampleCost(int64_t example) const override { return static_cast<double>(1 + example * 37 % 50); }

 private:
  static ToyTaskOptions Options() {
    ToyTaskOptions options;
    options.num_examples = kNumExamples;
    return options;
  }
};

TEST_P(DataLoaderTest, BucketsAreAFunctionOfSeedAndEpoch) {
  const SizedTask task;
  DataLoaderOptions options = Options();
  options.bucket_window = 4;
  DataLoader loader(task, Numbers(kNumExamples), options);
  options.num_workers = 0;
  DataLoader reference(task, Numbers(kNumExamples), options);
  std::vector<double> some(kNumExamples);
  for (int64_t i = 0; i < kNumExamples; ++i) some[i] = i % 2;
  for (const std::vector<double>& weights : {std::vector<double>(), some}) {
    const Epoch expected = ReadEpoch(&reference, 5, 0, weights);
    EXPECT_NE(ReadEpoch(&loader, 4, 0, weights).examples, expected.examples);
    const Epoch whole = ReadEpoch(&loader, 5, 0, weights), rest = ReadEpoch(&loader, 5, 7, weights);
    EXPECT_EQ(whole.examples, expected.examples);
    EXPECT_EQ(whole.y, expected.y);
    EXPECT_EQ(rest.y, std::vector<std::vector<double>>(whole.y.begin() + 7, whole.y.end()));
    for (size_t b = 0; b + 1 < whole.examples.size(); ++b) {
      EXPECT_TRUE(std::is_sorted(whole.examples[b].begin(), whole.examples[b].end(),
                                 [&](int64_t i, int64_t j) { return task.ExampleCost(i) < task.ExampleCost(j); }));
    }
    std::vector<int64_t> all = Joined(whole);
    std::sort(all.begin(), all.end());
    if (weights.empty()) {
      EXPECT_EQ(all, Numbers(kNumExamples));
    } else {
      for (const int64_t example : all) EXPECT_EQ(example % 2, 1);
    }
  }
}

TEST_P(DataLoaderTest, GivenOrderHasNoBuckets) {
  const SizedTask task;
  DataLoaderOptions options = Options(/*shuffle=*/false);
  options.bucket_window = 4;
  DataLoader loader(task, Numbers(kNumExamples), options);
  EXPECT_EQ(Joined(ReadEpoch(&loader, 0)), Numbers(kNumExamples));
}

// ToyTask::StartEpoch would fail while a batch is made.
TEST_P(DataLoaderTest, NothingIsMadeAfterTheEnd) {
  ToyTask task(ToyTaskOptions{});
  DataLoader loader(task, Numbers(40), Options());
  for (int i = 0; i < 50; ++i) {
    loader.StartEpoch(i);
    ASSERT_TRUE(loader.Next().ok());
    const std::vector<int64_t> examples(loader.examples().begin(), loader.examples().end());
    loader.EndEpoch();
    task.StartEpoch(i, true);
    EXPECT_EQ(loader.Next().value(), nullptr);
    EXPECT_EQ(std::vector<int64_t>(loader.examples().begin(), loader.examples().end()), examples);
    loader.EndEpoch();
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, DataLoaderTest,
                         ::testing::Values(std::make_pair(0, true), std::make_pair(1, true), std::make_pair(2, true),
                                           std::make_pair(5, true), std::make_pair(0, false),
                                           std::make_pair(2, false)));

TEST(DataLoaderWeightsDeathTest, RejectsWeightsThatAreNone) {
  const ToyTask task = MakeTask();
  DataLoader loader(task, {1, 2}, DataLoaderOptions());
  EXPECT_DEATH(loader.StartEpoch(0, 0, {1.0}), "1 vs. 2");
  EXPECT_DEATH(loader.StartEpoch(0, 0, {1.0, -1.0}), "-1");
  EXPECT_DEATH(loader.StartEpoch(0, 0, {0.0, 0.0}), "total > 0");
}

TEST(DataLoaderSeedTest, SeedAndEpochDecide) {
  const ToyTask task = MakeTask();
  DataLoaderOptions options;
  options.seed = 1;
  DataLoader first(task, Numbers(kNumExamples), options), same(task, Numbers(kNumExamples), options);
  options.seed = 2;
  DataLoader other(task, Numbers(kNumExamples), options);
  EXPECT_EQ(Joined(ReadEpoch(&first, 3)), Joined(ReadEpoch(&same, 3)));
  EXPECT_NE(Joined(ReadEpoch(&first, 3)), Joined(ReadEpoch(&other, 3)));
}

TEST(DataLoaderSeedTest, BatchesReuseMemory) {
  const ToyTask task = MakeTask();
  DataLoaderOptions options;
  DataLoader loader(task, Numbers(64), options);
  loader.StartEpoch(0);
  const void* memory = loader.Next().value()->At("x").data();
  EXPECT_EQ(loader.Next().value()->At("x").data(), memory);
}

// Gives its batches their numbers for their content.
class NumberedTask : public ToyTask {
 public:
  using ToyTask::ToyTask;
  absl::Status MakeNumberedBatch(int64_t number, absl::Span<const int64_t> examples,
                                 NamedTensors* batch) const override {
    batch->Set("y", Tensor::Scalar<double>(static_cast<double>(number)));
    return absl::OkStatus();
  }
};

// Whatever process makes a batch, whoever makes it ahead, and wherever a run goes on.
TEST(DataLoaderTest, TellsATaskTheNumberOfABatch) {
  ToyTaskOptions toy;
  toy.num_examples = 40;
  const NumberedTask task(toy);
  for (const int num_workers : {0, 2}) {
    for (const int num_ranks : {1, 2}) {
      DataLoaderOptions options;
      options.batch_size = 10;
      options.num_workers = num_workers;
      options.num_ranks = num_ranks;
      options.rank = num_ranks - 1;
      DataLoader loader(task, Numbers(40), options);
      EXPECT_THAT(ReadEpoch(&loader, 0).y, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
      EXPECT_THAT(ReadEpoch(&loader, 1, /*first_batch=*/2).y, ElementsAre(ElementsAre(2), ElementsAre(3)));
    }
  }
}

}  // namespace
}  // namespace rutile
