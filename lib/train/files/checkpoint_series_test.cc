#include "lib/train/files/checkpoint_series.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kConfig[] =
    R"({"optimizer":"adam","beta2":0.99,"epsilon":0.001,"shuffle":true,"task":{"hidden":"4,4"}})";

std::vector<std::pair<std::string, std::string>> LossAndActivation(const std::map<std::string, std::string>& task) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const char* name : {"kge_loss", "activation"}) {
    if (const auto found = task.find(name); found != task.end()) settings.push_back(*found);
  }
  return settings;
}

const std::vector<ParameterSlice>& Slices() {
  static const auto* slices = new std::vector<ParameterSlice>{{"net.weight", 0, {2, 2}}, {"net.bias", 4, {}}};
  return *slices;
}

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.seed = 7;
  checkpoint.epoch = 2;
  checkpoint.step = 10;
  checkpoint.parameters = Tensor::Of<float>({1, 2, 3, 4, 5});
  checkpoint.best_parameters = checkpoint.parameters;
  checkpoint.epoch_sums = TermSums(1);
  checkpoint.learning_rate = 0.5;
  checkpoint.loss_weight = {0.25};
  checkpoint.optimizer.Set("exp_avg_sq", Tensor::Of<float>({0, 1, 4, 9, 16}));
  checkpoint.optimizer.Set("step", Tensor::Scalar<int64_t>(10));
  checkpoint.config = kConfig;
  checkpoint.data = 42;
  checkpoint.data_sha256 = "0a";
  return checkpoint;
}

std::string Save(const std::string& name, const Checkpoint& checkpoint,
                 const std::vector<ParameterSlice>& slices = Slices()) {
  const std::string path = ::testing::TempDir() + "/" + name + ".safetensors";
  EXPECT_EQ(SaveCheckpoint(path, checkpoint, slices, {}), absl::OkStatus());
  return path;
}

CheckpointSummary SummaryAt(const std::string& path, int64_t step) {
  CheckpointSummary summary;
  summary.path = path;
  summary.step = step;
  summary.parameters = {{"w", {2}}};
  return summary;
}

std::vector<int64_t> Steps(const CheckpointSeries& series) {
  std::vector<int64_t> steps;
  for (const CheckpointSummary& checkpoint : series.checkpoints) steps.push_back(checkpoint.step);
  return steps;
}

TEST(CheckpointSeriesTest, SummaryIsWhatWasSaved) {
  const absl::StatusOr<CheckpointSummary> summary = ReadCheckpointSummary(Save("summary", Example()));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->seed, 7u);
  EXPECT_EQ(summary->epoch, 2);
  EXPECT_EQ(summary->step, 10);
  EXPECT_EQ(summary->learning_rate, 0.5);
  EXPECT_THAT(summary->loss_weight, ElementsAre(0.25));
  EXPECT_EQ(summary->data, 42u);
  EXPECT_EQ(summary->data_sha256, "0a");
  EXPECT_EQ(summary->dtype, DType::kF32);
  EXPECT_EQ(summary->task.at("hidden"), "4,4");
  EXPECT_EQ(summary->config.count("task"), 0);
  EXPECT_EQ(summary->config.at("beta2"), "0.99");
  EXPECT_EQ(summary->config.at("shuffle"), "true");
  EXPECT_EQ(CheckSameParameters(*summary, Slices()), absl::OkStatus());
  EXPECT_THAT(CheckSameParameters(*summary, {{"net.weight", 0, {4}}, {"net.bias", 4, {}}}).ToString(),
              HasSubstr("net.weight is [2, 2], expected [4]"));
  EXPECT_THAT(CheckSameParameters(*summary, {{"net.weight", 0, {2, 2}}}).ToString(),
              HasSubstr("it has 2 parameters, expected 1"));
  EXPECT_THAT(CheckSameParameters(*summary, {{"net.height", 0, {2, 2}}}).ToString(),
              HasSubstr("net.height is not in it"));
}

TEST(CheckpointSeriesTest, ParametersInEitherType) {
  const std::string path = Save("parameters", Example());
  absl::StatusOr<Tensor> parameters = ReadCheckpointParameters(path, Slices(), DType::kF32);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_THAT(parameters->values<float>(), ElementsAre(1, 2, 3, 4, 5));
  parameters = ReadCheckpointParameters(path, Slices(), DType::kF64);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_THAT(parameters->values<double>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ReadCheckpointParameters(path, {{"net.bias", 0, {1}}}, DType::kF32).status().ToString(),
              HasSubstr("net.bias is [], expected [1]"));
}

TEST(CheckpointSeriesTest, DamagedFiles) {
  const std::string path = Save("damaged", Example());
  absl::StatusOr<FileContents> bytes = FileContents::Open(path);
  ASSERT_TRUE(bytes.ok());
  std::string text(bytes->data());
  ASSERT_EQ(WriteFileAtomically(path, text.substr(0, text.size() - 8)), absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(ReadCheckpointSummary(path).status()));
  text[text.size() - 60] ^= 1;
  ASSERT_EQ(WriteFileAtomically(path, text), absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(ReadCheckpointParameters(path, Slices(), DType::kF32).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadCheckpointSummary("none.safetensors").status()));
}

TEST(CheckpointSeriesTest, OrderIsThatOfTraining) {
  const absl::StatusOr<CheckpointSeries> series = OrderCheckpoints(
      {SummaryAt("r/epoch-2", 20), SummaryAt("r/last.safetensors", 50), SummaryAt("r/step-60", 60)}, LossAndActivation);
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(Steps(*series), ElementsAre(20, 50, 60));
  EXPECT_TRUE(series->messages.empty());
  const absl::StatusOr<CheckpointSeries> turned =
      OrderCheckpoints({SummaryAt("b", 20), SummaryAt("a", 10)}, LossAndActivation);
  ASSERT_TRUE(turned.ok()) << turned.status();
  EXPECT_THAT(Steps(*turned), ElementsAre(10, 20));
  EXPECT_THAT(OrderCheckpoints({SummaryAt("a", 10), SummaryAt("a", 10)}, LossAndActivation).status().ToString(),
              AllOf(HasSubstr("a: is of step 10"), HasSubstr("give each checkpoint once")));
  EXPECT_THAT(OrderCheckpoints({SummaryAt("r/a", 10), SummaryAt("q/b", 10)}, LossAndActivation).status().ToString(),
              AllOf(HasSubstr("q/b: is of step 10, as is r/a"), HasSubstr("give each checkpoint once")));
  EXPECT_THAT(OrderCheckpoints({}, LossAndActivation).status().ToString(), HasSubstr("no checkpoint"));
}

// A glob of checkpoints/ contains the last checkpoint twice: also under its number.
TEST(CheckpointSeriesTest, LastIsLeftOutWhereItIsAnotherOne) {
  absl::StatusOr<CheckpointSeries> series = OrderCheckpoints(
      {SummaryAt("r/epoch-2", 20), SummaryAt("r/epoch-4", 40), SummaryAt("r/last.safetensors", 40)}, LossAndActivation);
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(Steps(*series), ElementsAre(20, 40));
  EXPECT_THAT(series->messages, ElementsAre(HasSubstr("r/last.safetensors is left out")));
  // From another directory, a duplicate is an error.
  series = OrderCheckpoints({SummaryAt("r/epoch-4", 40), SummaryAt("q/last.safetensors", 40)}, LossAndActivation);
  EXPECT_FALSE(series.ok());
  series =
      OrderCheckpoints({SummaryAt("r/last.safetensors", 40), SummaryAt("r/last.safetensors", 40)}, LossAndActivation);
  EXPECT_FALSE(series.ok());
}

// With --save_top_k, or checkpoints of epochs and of steps, a glob's order is not that of steps.
TEST(CheckpointSeriesTest, AGlobOfAllCheckpoints) {
  const absl::StatusOr<CheckpointSeries> series = OrderCheckpoints(
      {SummaryAt("r/epoch-1", 5), SummaryAt("r/epoch-2", 10), SummaryAt("r/last.safetensors", 12),
       SummaryAt("r/step-10", 10), SummaryAt("r/step-12", 12), SummaryAt("r/step-7", 7), SummaryAt("r/top-1", 5)},
      LossAndActivation);
  ASSERT_TRUE(series.ok()) << series.status();
  std::vector<std::string> paths;
  for (const CheckpointSummary& checkpoint : series->checkpoints) paths.push_back(checkpoint.path);
  EXPECT_THAT(paths, ElementsAre("r/epoch-1", "r/step-7", "r/epoch-2", "r/step-12"));
  EXPECT_THAT(series->messages, ElementsAre("r/top-1 is left out: r/epoch-1 is of the same step, 5; 2 more are left "
                                            "out likewise"));
  CheckpointSummary other = SummaryAt("r/top-1", 5);
  other.seed = 1;
  EXPECT_THAT(OrderCheckpoints({SummaryAt("r/epoch-1", 5), other}, LossAndActivation).status().ToString(),
              HasSubstr("another seed"))
      << "of the same step, but of another run";
}

TEST(CheckpointSeriesTest, OneRunAlone) {
  const auto with = [](auto change) {
    CheckpointSummary first = SummaryAt("a", 10), other = SummaryAt("b", 20);
    first.task = other.task = {{"activation", "tanh"}, {"loss", "rmse"}, {"kge_loss", "1-N"}};
    change(&other);
    return OrderCheckpoints({first, other}, LossAndActivation).status().ToString();
  };
  EXPECT_THAT(with([](CheckpointSummary* c) { c->seed = 1; }),
              HasSubstr("b: of another run than a: it had another seed"));
  EXPECT_THAT(with([](CheckpointSummary* c) { c->data = 1; }), HasSubstr("another split of the data"));
  // Parameters of the same names and shapes may mean something else; other options may change between sessions.
  EXPECT_THAT(with([](CheckpointSummary* c) { c->task["activation"] = "silu"; }),
              HasSubstr("b: of another run than a: activation is silu, there it is tanh"));
  EXPECT_EQ(with([](CheckpointSummary* c) { c->task["loss"] = "huber"; }), "OK");
  EXPECT_THAT(with([](CheckpointSummary* c) { c->task["kge_loss"] = "KvsAll"; }),
              HasSubstr("b: of another run than a: kge_loss is KvsAll, there it is 1-N"));
  EXPECT_THAT(with([](CheckpointSummary* c) { c->parameters[0].second = {3}; }),
              HasSubstr("parameter 1 is w [3], there it is w [2]"));
  EXPECT_THAT(with([](CheckpointSummary* c) { c->parameters.emplace_back("v", std::vector<int64_t>{1}); }),
              HasSubstr("parameter 2 is v [1], there it is none"));
  EXPECT_THAT(with([](CheckpointSummary* c) { c->dtype = DType::kF64; }), HasSubstr("F64"));
}

TEST(CheckpointSeriesTest, AnotherRateIsTold) {
  CheckpointSummary a = SummaryAt("a", 1), b = SummaryAt("b", 2), c = SummaryAt("c", 3);
  a.config["learning_rate"] = b.config["learning_rate"] = "0.01";
  c.config["learning_rate"] = "0.1";
  const absl::StatusOr<CheckpointSeries> series = OrderCheckpoints({a, b, c}, LossAndActivation);
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(series->messages, ElementsAre(AllOf(HasSubstr("c: its learning_rate is 0.1"), HasSubstr("b 0.01"))));
}

TEST(CheckpointSeriesTest, OtherRatesOfGroupsAreTold) {
  CheckpointSummary a = SummaryAt("a", 1), b = SummaryAt("b", 2), c = SummaryAt("c", 3);
  for (CheckpointSummary* each : {&a, &b, &c}) each->config["learning_rate"] = "0.5";
  a.config["parameter_groups"] = b.config["parameter_groups"] = R"([{"parameters":"*.bias","learning_rate":0.125}])";
  c.config["parameter_groups"] = R"([{"parameters":"*.bias","learning_rate":0.25}])";
  const absl::StatusOr<CheckpointSeries> series = OrderCheckpoints({a, b, c}, LossAndActivation);
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(series->messages, ElementsAre(HasSubstr("c: its parameter_groups are not those of b")));
}

TEST(CheckpointSeriesTest, RatesOfGroups) {
  CheckpointSummary summary = SummaryAt("a", 1);
  summary.config["learning_rate"] = "0.5";
  EXPECT_EQ(GroupRates(summary, Slices(), DType::kF64)->num_elements(), 0);
  summary.config["parameter_groups"] = R"([{"parameters":"*.bias","optimizer":"sgd","learning_rate":0.125}])";
  EXPECT_EQ(GroupRates(summary, Slices(), DType::kF32)->ToDoubles(), (std::vector<double>{1, 1, 1, 1, 0.25}));
  summary.config["parameter_groups"] = R"([{"parameters":"*.bias","learning_rate":0.5}])";
  EXPECT_EQ(GroupRates(summary, Slices(), DType::kF64)->num_elements(), 0) << "the run's rate";
  for (const char* bad : {"7", "[7]", R"([{"parameters":"*.bias"}])"}) {
    summary.config["parameter_groups"] = bad;
    EXPECT_THAT(GroupRates(summary, Slices(), DType::kF64).status().ToString(), HasSubstr("a: its config's")) << bad;
  }
}

// The steps of AMSGrad are divided by the largest mean of squares, not by the last one.
TEST(CheckpointSeriesTest, PreconditionerIsAmsgradsWhereTheRunHadIt) {
  Checkpoint example = Example();
  example.optimizer.Set("max_exp_avg_sq", Tensor::Of<float>({25, 36, 49, 64, 81}));
  absl::StatusOr<CheckpointSummary> summary = ReadCheckpointSummary(Save("amsgrad", example));
  ASSERT_TRUE(summary.ok()) << summary.status();
  const absl::StatusOr<Tensor> weights = AdamPreconditioner(*summary, Slices(), DType::kF64);
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(weights->values<double>()[i], 1 / ((5 + i) / std::sqrt(1 - std::pow(0.99, 10)) + 0.001), 1e-9) << i;
  }
  example.optimizer.Set("max_exp_avg_sq", Tensor::Of<float>({1, 1, -1, 1, 1}));
  summary = ReadCheckpointSummary(Save("negative-amsgrad", example));
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(),
              HasSubstr("optimizer.max_exp_avg_sq"));
}

TEST(CheckpointSeriesTest, PreconditionerIsAdams) {
  absl::StatusOr<CheckpointSummary> summary = ReadCheckpointSummary(Save("adam", Example()));
  ASSERT_TRUE(summary.ok()) << summary.status();
  const absl::StatusOr<Tensor> weights = AdamPreconditioner(*summary, Slices(), DType::kF64);
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(weights->values<double>()[i], 1 / (i / std::sqrt(1 - std::pow(0.99, 10)) + 0.001), 1e-9) << i;
  }
  // Buffers are among the parameters, but not in the optimizer's state.
  Checkpoint buffered = Example();
  buffered.parameters = buffered.best_parameters = Tensor::Of<float>({1, 2, 3, 4, 5, 6, 7});
  const std::vector<ParameterSlice> slices = {{"a", 4, {3}}, {"mean", 2, {2}, /*buffer=*/true}, {"b", 0, {2}}};
  const absl::StatusOr<CheckpointSummary> with_buffer = ReadCheckpointSummary(Save("buffer", buffered, slices));
  ASSERT_TRUE(with_buffer.ok()) << with_buffer.status();
  const absl::StatusOr<Tensor> spread = AdamPreconditioner(*with_buffer, slices, DType::kF64);
  ASSERT_TRUE(spread.ok()) << spread.status();
  const std::vector<double> expected = {
      weights->values<double>()[0], weights->values<double>()[1], 1, 1, weights->values<double>()[2],
      weights->values<double>()[3], weights->values<double>()[4]};
  EXPECT_EQ(spread->ToDoubles(), expected);

  summary->config["optimizer"] = "sgd";
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("--optimizer=sgd"));
  summary->config["optimizer"] = "adamw";
  EXPECT_TRUE(AdamPreconditioner(*summary, Slices(), DType::kF32).ok());
  summary->config["parameter_groups"] = "[]";
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("groups"));
  summary->config.erase("parameter_groups");
  summary->config.erase("beta2");
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("\"beta2\""));

  Checkpoint bad = Example();
  bad.optimizer.Set("step", Tensor::Scalar<int64_t>(0));
  summary = ReadCheckpointSummary(Save("first", bad));
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("before the first"));
  bad.optimizer.Set("step", Tensor::Scalar<int64_t>(1));
  bad.optimizer.Set("exp_avg_sq", Tensor::Of<float>({1, 1, 1, -1, 1}));
  summary = ReadCheckpointSummary(Save("negative", bad));
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("negative"));
  bad.optimizer.Set("exp_avg_sq", Tensor::Of<float>({1, 1}));
  summary = ReadCheckpointSummary(Save("short", bad));
  EXPECT_THAT(AdamPreconditioner(*summary, Slices(), DType::kF64).status().ToString(), HasSubstr("optimizer's state"));
}

TEST(CheckpointSeriesTest, GroupsThatTookTurnsHaveNoOneRate) {
  CheckpointSummary checkpoint;
  checkpoint.path = "c";
  checkpoint.config = {{"learning_rate", "0.5"},
                       {"alternate_groups", "5"},
                       {"parameter_groups", R"([{"parameters":"*.bias","learning_rate":0.25},
                                               {"parameters":"net.*","learning_rate":1.5}])"}};
  EXPECT_THAT(GroupRates(checkpoint, Slices(), DType::kF64).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"c:", "took turns"}));
  checkpoint.config.erase("alternate_groups");
  EXPECT_THAT(GroupRates(checkpoint, Slices(), DType::kF64)->ToDoubles(), ElementsAre(3, 3, 3, 3, 0.5));
}

}  // namespace
}  // namespace rutile
