#include "lib/train/step/model_shards.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/agreement.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/model_sharding.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of 12 parameters the first process owns 0, 1 and 7, the second 3 to 5, and the third none.
class SharedToy : public ToyTask, public ModelSharding {
 public:
  SharedToy() : ToyTask(Options()) {}
  std::vector<LossTerm> terms() const override { return {{"loss", ""}}; }
  ModelSharding* sharding() override { return this; }
  std::vector<std::vector<GradientRange>> ShardModel(Exchange* exchange) override {
    EXPECT_EQ(exchange->size(), 3);
    divided_ = true;
    return {{{0, 2}, {7, 8}}, {{3, 6}}, {}};
  }
  void UnshardModel() override { divided_ = false; }
  bool SynchronizesBatches() const override { return synchronizes; }
  bool divided() const { return divided_; }

  bool synchronizes = false;

 private:
  static ToyTaskOptions Options() {
    ToyTaskOptions options;
    options.num_features = 11;
    return options;
  }
  bool divided_ = false;
};

std::vector<int64_t> Flat(const std::vector<GradientRange>& ranges) {
  std::vector<int64_t> flat;
  for (const GradientRange& range : ranges) flat.insert(flat.end(), {range.begin, range.end});
  return flat;
}

// Calls work(task, shards, rank) in three processes.
template <class Work>
void InThree(const Work& work) {
  RunAsThreads(3, [&](Communicator* communicator) {
    SharedToy task;
    Agreement agreement(communicator);
    const absl::StatusOr<std::unique_ptr<ModelShards>> shards = ModelShards::Create(&task, &agreement);
    ASSERT_TRUE(shards.ok()) << shards.status();
    work(&task, shards->get(), communicator->rank());
  });
}

TEST(ModelShardsTest, SaysWhoMovesWhat) {
  InThree([](SharedToy* task, ModelShards* shards, int rank) {
    EXPECT_TRUE(task->divided());
    EXPECT_THAT(Flat(shards->replicated()), ElementsAre(2, 3, 6, 7, 8, 12));
    if (rank == 0) {
      EXPECT_THAT(Flat(shards->owned()), ElementsAre(0, 2, 7, 8));
      EXPECT_THAT(Flat(shards->updated()), ElementsAre(0, 2, 2, 3, 6, 7, 7, 8, 8, 12));
    }
    if (rank == 2) {
      EXPECT_THAT(Flat(shards->updated()), ElementsAre(2, 3, 6, 7, 8, 12));
    }
  });
}

TEST(ModelShardsTest, TheModelIsWholeAgainAfterward) {
  SharedToy task;
  RunAsThreads(3, [&](Communicator* communicator) {
    if (communicator->rank() > 0) return;
    Agreement agreement(communicator);
    { const auto shards = ModelShards::Create(&task, &agreement); }
    EXPECT_FALSE(task.divided());
  });
}

// Replicated values are parts of a sum; values that other processes own are ignored.
TEST(ModelShardsTest, CompletesTheGradient) {
  InThree([](SharedToy* task, ModelShards* shards, int rank) {
    std::vector<double> values(12, kNan);
    for (const GradientRange& range : shards->owned()) {
      for (int64_t i = range.begin; i < range.end; ++i) values[i] = 1;
    }
    for (const int64_t i : {2, 6, 8, 9, 10, 11}) values[i] = rank;  // 0 + 1 + 2
    Tensor gradient = Tensor::Of<double>(values);
    const double own = rank == 0 ? 3 * 4 : rank == 1 ? 3 * 4 : 0;  // with a weight of 2
    const absl::StatusOr<double> norm = shards->Complete(2, own, &gradient);
    ASSERT_TRUE(norm.ok()) << norm.status();
    EXPECT_DOUBLE_EQ(*norm, std::sqrt(24 + 6 * 36.0));
    for (const int64_t i : {2, 6, 8, 9, 10, 11}) EXPECT_EQ(gradient.values<double>()[i], 3);
  });
}

// Gathers all parameters, and ranges that cut across ownership.
TEST(ModelShardsTest, MakesTensorsWhole) {
  InThree([](SharedToy* task, ModelShards* shards, int rank) {
    const auto value = [&](int64_t i) {
      const bool first = i < 2 || i == 7, second = i >= 3 && i < 6;
      if (first || second) return rank == (first ? 0 : 1) ? 10.0 + static_cast<double>(i) : kNan;
      return rank == 0 ? 20.0 + static_cast<double>(i) : 1.0;
    };
    const std::vector<ParameterRange> all = {{0, 12, true}}, some = {{1, 4, true}, {7, 2, false}};
    for (const std::vector<ParameterRange>& ranges : {all, some}) {
      std::vector<double> before, expected;
      for (const ParameterRange& range : ranges) {
        for (int64_t i = range.begin; i < range.begin + range.size; ++i) {
          before.push_back(value(i));
          const bool owned = i < 2 || i == 7 || (i >= 3 && i < 6);
          expected.push_back((owned ? 10.0 : 20.0) + static_cast<double>(i));
        }
      }
      Tensor values = Tensor::Of<double>(before);
      ASSERT_TRUE(shards->AllGather(ranges, &values).ok());
      EXPECT_EQ(values.ToDoubles(), expected);
    }
  });
}

TEST(ModelShardsTest, BatchesAreSynchronizedIfTheTaskSaysSo) {
  SharedToy task;
  EXPECT_FALSE(SynchronizesBatches(task));
  task.synchronizes = true;
  EXPECT_TRUE(SynchronizesBatches(task));
  EXPECT_FALSE(SynchronizesBatches(ToyTask(ToyTaskOptions())));
}

TEST(ModelShardsTest, ATaskThatCannotSaysSo) {
  RunAsThreads(2, [](Communicator* communicator) {
    ToyTask task{ToyTaskOptions()};
    Agreement agreement(communicator);
    EXPECT_THAT(std::string(ModelShards::Create(&task, &agreement).status().message()), HasSubstr("cannot be divided"));
  });
}

}  // namespace
}  // namespace rutile
