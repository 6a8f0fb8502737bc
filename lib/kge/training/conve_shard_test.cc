// Compares ConveKernel with a model sharded over processes (here threads) with one process that has all of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/gradient_sink.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
  BatchStatistics statistics;
};

// Collects the parts that it takes, and puts them into the gradient later.
class Keeper : public GradientSink {
 public:
  void Take(int64_t begin, const Tensor& values) override {
    const std::vector<double> taken = values.ToDoubles();
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < taken.size(); ++i) taken_.emplace_back(begin + static_cast<int64_t>(i), taken[i]);
  }
  void PutInto(std::vector<double>* gradient) const {
    for (const auto& [at, value] : taken_) (*gradient)[at] = value;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<int64_t, double>> taken_;
};

enum class Deliver { kAdd, kOverwrite, kStream };

struct How {
  Deliver deliver = Deliver::kAdd;
  int num_threads = 1;
};

// Runs two batches one after the other if gradients are added.
Outcome RunKernel(const KgeShape& shape, const std::vector<double>& values, const std::vector<KgeBatch>& batches,
                  const How& how, Exchange* exchange) {
  ThreadPool pool(how.num_threads);
  ConveKernel kernel(shape, &pool);
  kernel.SetShard(exchange);
  const Tensor parameters = TensorOfDoubles(shape.options.precision, values);
  Tensor gradient = TensorOfDoubles(shape.options.precision,
                                    std::vector<double>(values.size(), how.deliver == Deliver::kAdd ? 0 : kNan));
  Outcome outcome;
  Keeper keeper;
  const GradientDelivery delivery = how.deliver == Deliver::kAdd         ? GradientDelivery::Add()
                                    : how.deliver == Deliver::kOverwrite ? GradientDelivery::Overwrite()
                                                                         : GradientDelivery::Stream(&keeper);
  for (const KgeBatch& batch : batches) {
    EXPECT_TRUE(
        kernel.AccumulateGradients(parameters, batch, &gradient, &outcome.loss, &outcome.statistics, delivery).ok());
  }
  outcome.gradient = gradient.ToDoubles();
  keeper.PutInto(&outcome.gradient);
  return outcome;
}

// Sums the replicated parts, and takes the others from their owners.
std::vector<double> WholeGradient(const std::vector<Outcome>& outcomes,
                                  const std::vector<std::vector<GradientRange>>& owned) {
  std::vector<double> whole(outcomes[0].gradient.size(), 0);
  std::vector<bool> has_owner(whole.size(), false);
  for (size_t rank = 0; rank < owned.size(); ++rank) {
    for (const GradientRange& range : owned[rank]) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        EXPECT_FALSE(has_owner[i]) << i;
        has_owner[i] = true;
        whole[i] = outcomes[rank].gradient[i];
      }
    }
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    for (size_t rank = 0; !has_owner[i] && rank < owned.size(); ++rank) whole[i] += outcomes[rank].gradient[i];
  }
  return whole;
}

void ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * largest) << what << " " << i;
  }
}

KgeShape SmallShape(KgeModel model, ConveVariant variant, KgeLoss loss, DType precision) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.model = model;
  options.variant = variant;
  options.loss = loss;
  // Penalties of rows and dropped candidates go through the same blocks, sinks and shards.
  if (loss == KgeLoss::kKvsAll) {
    options.regularizer = KgeRegularizer::kN3;
    options.candidate_dropout = 0.3;
  }
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 5;
  options.kernel_height = options.kernel_width = 2;
  options.precision = precision;
  options.seed = 7;
  shape.num_entities = 29;
  shape.num_relations = 4;
  return shape;
}

// Replaces all that other processes own by NaN.
std::vector<double> WithoutOthers(std::vector<double> values, const std::vector<std::vector<GradientRange>>& owned,
                                  int rank) {
  for (int other = 0; other < static_cast<int>(owned.size()); ++other) {
    if (other == rank) continue;
    for (const GradientRange& range : owned[other]) {
      std::fill(values.begin() + range.begin, values.begin() + range.end, kNan);
    }
  }
  return values;
}

void ExpectShardsAreTheWhole(const KgeShape& shape, const std::vector<KgeBatch>& batches, const How& how) {
  const std::vector<double> values = InitialKgeParameters(shape, 3);
  const Outcome expected = RunKernel(shape, values, batches, {}, nullptr);
  const double tolerance = shape.options.precision == DType::kF64 ? 1e-11 : 2e-5;
  // With seven processes some have no channel and no relation.
  for (const int size : {1, 2, 3, 7}) {
    SCOPED_TRACE(size);
    const std::vector<std::vector<GradientRange>> owned = OwnedParameters(shape, size);
    std::vector<Outcome> outcomes(size);
    RunAsThreads(size, [&](Communicator* communicator) {
      const int rank = communicator->rank();
      outcomes[rank] = RunKernel(shape, WithoutOthers(values, owned, rank), batches, how, communicator);
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_NEAR(outcome.loss, expected.loss, tolerance);
      for (const auto norm : {&BatchStatistics::bn0, &BatchStatistics::bn1, &BatchStatistics::bn2}) {
        ExpectSame((outcome.statistics.*norm).mean, (expected.statistics.*norm).mean, tolerance, "mean");
        ExpectSame((outcome.statistics.*norm).variance, (expected.statistics.*norm).variance, tolerance, "variance");
      }
    }
    ExpectSame(WholeGradient(outcomes, owned), expected.gradient, tolerance, "gradient");
  }
}

using Model = std::tuple<KgeModel, ConveVariant>;

class ConveShardTest : public ::testing::TestWithParam<std::tuple<Model, KgeLoss, DType>> {
 protected:
  KgeShape Shape() const {
    const auto& [model, loss, precision] = GetParam();
    return SmallShape(std::get<0>(model), std::get<1>(model), loss, precision);
  }
};

TEST_P(ConveShardTest, PartsAreTheWhole) {
  const KgeShape shape = Shape();
  const OwnedKgeBatch first = RandomKgeBatch(shape, 19, 3, 5), second = RandomKgeBatch(shape, 3, 2, 6);
  ExpectShardsAreTheWhole(shape, {first.View(/*training=*/true), second.View(/*training=*/true)}, {});
}

// Three queries among 29 entities are few enough for rows to go to the sink.
TEST_P(ConveShardTest, GradientsThatAreOverwrittenAndHandedOver) {
  const KgeShape shape = Shape();
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 3, 3, 5);
  for (const Deliver deliver : {Deliver::kOverwrite, Deliver::kStream}) {
    for (const int num_threads : {1, 2}) {
      How how;
      how.deliver = deliver;
      how.num_threads = num_threads;
      ExpectShardsAreTheWhole(shape, {batch.View(/*training=*/true)}, how);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ConveShardTest,
                         ::testing::Combine(::testing::Values(Model(KgeModel::kConvE, ConveVariant::kDettmers),
                                                              Model(KgeModel::kConvE, ConveVariant::kTiepin),
                                                              Model(KgeModel::kConvE, ConveVariant::kLibkge),
                                                              Model(KgeModel::kDistMult, ConveVariant::kDettmers),
                                                              Model(KgeModel::kComplEx, ConveVariant::kDettmers),
                                                              Model(KgeModel::kRescal, ConveVariant::kDettmers),
                                                              Model(KgeModel::kCp, ConveVariant::kDettmers),
                                                              Model(KgeModel::kSimple, ConveVariant::kDettmers),
                                                              Model(KgeModel::kTransE, ConveVariant::kDettmers),
                                                              Model(KgeModel::kRotatE, ConveVariant::kDettmers),
                                                              Model(KgeModel::kTucker, ConveVariant::kDettmers)),
                                            ::testing::Values(KgeLoss::kOneToN, KgeLoss::kKvsAll),
                                            ::testing::Values(DType::kF64, DType::kF32)));

// Validation runs in each process by itself, with the whole model.
TEST(ConveShardTest, EvaluatesAlone) {
  const KgeShape shape = SmallShape(KgeModel::kConvE, ConveVariant::kDettmers, KgeLoss::kOneToN, DType::kF64);
  const Tensor parameters = Tensor::Of<double>(InitialKgeParameters(shape, 3));
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 9, 3, 5);
  ConveKernel whole(shape);
  double expected = 0;
  ASSERT_TRUE(whole.AccumulateGradients(parameters, batch.View(false), nullptr, &expected, nullptr).ok());
  RunAsThreads(2, [&](Communicator* communicator) {
    ConveKernel kernel(shape);
    kernel.SetShard(communicator);
    double loss = 0;
    if (communicator->rank() == 1) return;
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(false), nullptr, &loss, nullptr).ok());
    EXPECT_EQ(loss, expected);
  });
}

class BrokenExchange : public Exchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  absl::Status Sum(absl::Span<double> values) override { return absl::UnavailableError("gone"); }
  absl::Status Sum(Tensor* values) override { return absl::UnavailableError("gone"); }
};

TEST(ConveShardTest, AnErrorOfASumIsTheBatchs) {
  const KgeShape shape = SmallShape(KgeModel::kConvE, ConveVariant::kDettmers, KgeLoss::kOneToN, DType::kF64);
  const Tensor parameters = Tensor::Of<double>(InitialKgeParameters(shape, 3));
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 4, 2, 5);
  BrokenExchange exchange;
  ConveKernel kernel(shape);
  kernel.SetShard(&exchange);
  Tensor gradient = Tensor::Zeros(DType::kF64, parameters.shape());
  double loss = 0;
  EXPECT_EQ(kernel.AccumulateGradients(parameters, batch.View(true), &gradient, &loss, nullptr),
            absl::UnavailableError("gone"));
}

}  // namespace
}  // namespace rutile
