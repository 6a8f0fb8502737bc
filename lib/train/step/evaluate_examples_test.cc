#include "lib/train/step/evaluate_examples.h"

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/testing/toy_task.h"
#include "lib/train/step/data_loader.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<EvaluationResult> Evaluate(const ToyTaskOptions& options, int64_t batch_size, int num_workers = 0) {
  ToyTask task(options);
  std::vector<int64_t> examples = {1, 2, 3, 5, 8, 13, 21, 34};
  DataLoaderOptions loader_options;
  loader_options.batch_size = batch_size;
  loader_options.shuffle = false;
  loader_options.num_workers = num_workers;
  DataLoader loader(task, examples, loader_options);
  return EvaluateExamples(task, task.InitialParameters(5), &loader);
}

// A root mean square over all examples differs from the mean of those of batches.
TEST(EvaluateExamplesTest, PoolsSumsOverBatches) {
  ToyTaskOptions options;
  options.root = true;
  const EvaluationResult whole = Evaluate(options, 8).value();
  EXPECT_EQ(whole.sums.count, (std::vector<double>{8, 2}));
  for (const int64_t batch_size : {1, 3}) {
    const EvaluationResult parts = Evaluate(options, batch_size, 2).value();
    EXPECT_NEAR(parts.loss, whole.loss, 1e-14);
    EXPECT_NEAR(parts.metrics[0].value, whole.metrics[0].value, 1e-14);
  }
  const double expected = 0.75 * std::sqrt(whole.sums.sum[0] / whole.sums.count[0]) +
                          0.25 * std::sqrt(whole.sums.sum[1] / whole.sums.count[1]);
  EXPECT_NEAR(whole.loss, expected, 1e-14);
}

// All of the loss is of slopes, which examples 1 and 2 lack.
TEST(EvaluateExamplesTest, ALossOfNothingIsNoNumber) {
  ToyTaskOptions options;
  options.alpha = 1;
  ToyTask task(options);
  for (const bool has_slope : {false, true}) {
    DataLoader loader(task, {1, has_slope ? 3 : 2}, DataLoaderOptions());
    const EvaluationResult result = EvaluateExamples(task, task.InitialParameters(5), &loader).value();
    EXPECT_EQ(result.counts, has_slope);
    EXPECT_EQ(std::isnan(result.loss), !has_slope);
  }
}

// The task is told of the epoch, and a loader that was left in the middle of an epoch starts anew.
TEST(EvaluateExamplesTest, TellsTheTask) {
  ToyTask task(ToyTaskOptions{});
  DataLoaderOptions options;
  options.batch_size = 1;
  options.num_workers = 2;
  DataLoader loader(task, {1, 2, 3, 4, 5, 6, 7, 8}, options);
  loader.StartEpoch(0);
  ASSERT_TRUE(EvaluateExamples(task, task.InitialParameters(5), &loader, 7).ok());
  EXPECT_EQ(task.epochs(), std::vector<std::string>{"validate 7"});
}

TEST(EvaluateExamplesTest, EndsOnASignal) {
  SetInterruptForTest(SIGTERM);
  EXPECT_EQ(Evaluate({}, 3).status().code(), absl::StatusCode::kCancelled);
  SetInterruptForTest(0);
}

TEST(EvaluateExamplesTest, PassesErrorsOn) {
  ToyTaskOptions options;
  options.failing_example = 13;
  EXPECT_THAT(std::string(Evaluate(options, 3).status().message()), HasSubstr("toy example 13"));
}

}  // namespace
}  // namespace rutile
