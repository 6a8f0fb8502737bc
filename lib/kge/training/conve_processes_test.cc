// Compares ConveKernel in several processes, which share a batch and synchronize norms, with one that has the whole
// batch.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/conve_kernel.h"

namespace rutile {
namespace {

// Threads take the place of processes: each leaves its values, and the last to come adds them in order of ranks.
class Meeting {
 public:
  explicit Meeting(int size) : values_(size) {}

  void Sum(int rank, absl::Span<double> values) {
    std::unique_lock<std::mutex> lock(mutex_);
    values_[rank].assign(values.begin(), values.end());
    const int64_t round = round_;
    if (++arrived_ == static_cast<int>(values_.size())) {
      sum_.assign(values.size(), 0);
      for (const std::vector<double>& own : values_) {
        ASSERT_EQ(own.size(), sum_.size());
        for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += own[i];
      }
      arrived_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ > round; });
    }
    std::copy(sum_.begin(), sum_.end(), values.begin());  // the next round cannot end before all have taken theirs
  }
  int64_t rounds() const { return round_; }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  std::vector<std::vector<double>> values_;
  std::vector<double> sum_;
  int arrived_ = 0;
  int64_t round_ = 0;
};

struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
  BatchStatistics statistics;
};

Outcome RunKernel(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch, BatchSum sum = nullptr) {
  ConveKernel kernel(shape);
  kernel.SetBatchSum(std::move(sum));
  Outcome outcome;
  Tensor gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
  EXPECT_TRUE(kernel.AccumulateGradients(parameters, batch, &gradient, &outcome.loss, &outcome.statistics).ok());
  outcome.gradient = gradient.ToDoubles();
  return outcome;
}

// The queries [begin, end) of a batch.
OwnedKgeBatch Part(const OwnedKgeBatch& all, int64_t begin, int64_t end) {
  OwnedKgeBatch part;
  for (int64_t q = begin; q < end; ++q) {
    part.Add(all.head[q], all.relation[q],
             {all.positive.begin() + all.positive_offset[q], all.positive.begin() + all.positive_offset[q + 1]});
    part.example.back() = all.example[q];
  }
  return part;
}

void ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-11) << what << " " << i;
}

class ConveProcessesTest : public ::testing::TestWithParam<ConveVariant> {};

TEST_P(ConveProcessesTest, SharesWithSynchronizedNormsAreTheWholeBatch) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.variant = GetParam();
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 5;
  options.kernel_height = options.kernel_width = 2;
  options.precision = DType::kF64;
  options.seed = 7;
  shape.num_entities = 17;
  shape.num_relations = 4;
  const Tensor parameters = Tensor::Of<double>(InitialKgeParameters(shape, 3));
  const OwnedKgeBatch all = RandomKgeBatch(shape, 19, 3, 5);
  const Outcome expected = RunKernel(shape, parameters, all.View(/*training=*/true));
  // Shares have different sizes, and some are empty.
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{19}, {7, 19}, {18, 18, 19}, {0, 19}}) {
    Meeting meeting(static_cast<int>(ends.size()));
    std::vector<Outcome> outcomes(ends.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ends.size()); ++rank) {
      threads.emplace_back([&, rank] {
        const OwnedKgeBatch part = Part(all, rank == 0 ? 0 : ends[rank - 1], ends[rank]);
        outcomes[rank] = RunKernel(shape, parameters, part.View(/*training=*/true), [&](absl::Span<double> values) {
          meeting.Sum(rank, values);
          return absl::OkStatus();
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    double loss = 0;
    std::vector<double> gradient(expected.gradient.size(), 0);
    for (const Outcome& outcome : outcomes) {
      loss += outcome.loss;
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += outcome.gradient[i];
      for (const auto norm : {&BatchStatistics::bn0, &BatchStatistics::bn1, &BatchStatistics::bn2}) {
        ExpectSame((outcome.statistics.*norm).mean, (expected.statistics.*norm).mean, "mean");
        ExpectSame((outcome.statistics.*norm).variance, (expected.statistics.*norm).variance, "variance");
      }
    }
    EXPECT_NEAR(loss, expected.loss, 1e-11);
    ExpectSame(gradient, expected.gradient, "gradient");
    EXPECT_EQ(meeting.rounds(), shape.has_input_norm() ? 11 : 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, ConveProcessesTest,
                         ::testing::Values(ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge));

TEST(ConveProcessesTest, AnErrorOfASumIsTheBatchs) {
  KgeShape shape;
  shape.num_entities = 5;
  shape.num_relations = 2;
  const std::vector<double> values = InitialKgeParameters(shape, 3);
  const Tensor parameters = Tensor::Of<float>(std::vector<float>(values.begin(), values.end()));
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 4, 2, 5);
  ConveKernel kernel(shape);
  kernel.SetBatchSum([](absl::Span<double>) { return absl::UnavailableError("gone"); });
  Tensor gradient = Tensor::Zeros(DType::kF32, parameters.shape());
  double loss = 0;
  EXPECT_EQ(kernel.AccumulateGradients(parameters, batch.View(true), &gradient, &loss, nullptr),
            absl::UnavailableError("gone"));
}

}  // namespace
}  // namespace rutile
