// Trains embeddings by the kernels of GPUs, here on the host, where parameters and the optimizer's state stay on the
// device (lib/task/gradients/resident_gradients.h): the same run as that of processors.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/gpu/kge_step_testing.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_task.h"
#include "lib/ranking/gpu/host_counting_device.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

std::shared_ptr<const KnowledgeGraph> Ring() {
  constexpr int32_t kEntities = 60;
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < kEntities; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "after", "before"};
  for (int32_t e = 0; e < 50; ++e) graph->train.push_back({e, e % 3, (e * 7 + 1) % kEntities});
  for (int32_t e = 0; e < 10; ++e) graph->valid.push_back({e, (e + 1) % 3, (e * 7 + 2) % kEntities});
  return graph;
}

KgeOptions Model(KgeModel model, DType precision = DType::kF64) {
  KgeOptions options;
  options.model = model;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.kernel_height = options.kernel_width = 2;
  options.input_dropout = 0.2;
  options.seed = 3;
  if (model != KgeModel::kConvE) {
    options.loss = KgeLoss::kOneVsAll;
    options.regularizer = KgeRegularizer::kN3;
    options.relation_prediction = 0.3;
  }
  return options;
}

TrainerOptions RunOptions() {
  TrainerOptions options;
  options.batch_size = 16;
  options.stop.max_epochs = 3;
  options.validation.every_steps = 2;
  options.accumulate_grad_batches = 2;
  options.ema.emplace();
  options.save_interval = absl::Seconds(100);
  return options;
}

absl::StatusOr<KgeDevice> OnHost(const KgeStepShape& shape, bool fp64) {
  return KgeDevice{MakeHostKgeStep(shape, fp64), MakeHostCountingDevice()};
}

absl::StatusOr<TrainResult> TrainOn(const KgeOptions& kge, const TrainerOptions& options, const std::string& directory,
                                    bool device) {
  const std::unique_ptr<KgeTask> task = KgeTask::Create(Ring(), nullptr, kge, /*num_threads=*/1, FactorRounding::kNone,
                                                        device ? MakeKgeDevice(OnHost) : MakeKgeDevice())
                                            .value();
  const Split split = {task->examples().TrainExamples(), task->examples().ValidExamples(), {}};
  return Train(*task, split, options, directory, {});
}

std::string NewDirectory() {
  static int next = 0;
  return absl::StrCat(::testing::TempDir(), "/resident", next++);
}

TensorFile Last(const std::string& directory) {
  return ReadTensorFile(directory + "/checkpoints/last.safetensors").value();
}

void ExpectSameRun(const KgeOptions& kge, const TrainerOptions& options) {
  const std::string host = NewDirectory(), device = NewDirectory();
  const absl::StatusOr<TrainResult> expected_result = TrainOn(kge, options, host, false);
  ASSERT_EQ(expected_result.status(), absl::OkStatus());
  const absl::StatusOr<TrainResult> result = TrainOn(kge, options, device, true);
  ASSERT_EQ(result.status(), absl::OkStatus());
  const bool fp32 = kge.precision == DType::kF32;
  EXPECT_NEAR(result->best_loss, expected_result->best_loss, fp32 ? 1e-3 : 1e-9);
  const TensorFile actual = Last(device), expected = Last(host);
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    const std::vector<double> found = actual.tensors.At(name).ToDoubles(), values = tensor.ToDoubles();
    ASSERT_EQ(found.size(), values.size());
    // Steps of Adam divide by roots of means of squares, which are small here: that magnifies rounding.
    const double tolerance = fp32 ? 2e-3 : 1e-8;
    for (size_t i = 0; i < values.size(); ++i) {
      if (found[i] != values[i]) {
        EXPECT_NEAR(found[i], values[i], tolerance * (1 + std::abs(values[i]))) << name;
      }
    }
  }
}

TEST(KgeResidentTest, TrainsAsProcessorsDo) {
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx}) {
    for (const DType precision : {DType::kF64, DType::kF32}) ExpectSameRun(Model(model, precision), RunOptions());
  }
}

TEST(KgeResidentTest, TrainsWithClippedGradientsAndOtherOptimizers) {
  for (const OptimizerKind kind : {OptimizerKind::kAdagrad, OptimizerKind::kSgd, OptimizerKind::kAdamW}) {
    TrainerOptions options = RunOptions();
    options.optimizer.kind = kind;
    options.optimizer.learning_rate = 0.01;
    options.optimizer.weight_decay = 1e-3;
    options.gradient_clip_val = 0.05;
    options.accumulate_grad_batches = 1;
    ExpectSameRun(Model(KgeModel::kComplEx), options);
  }
}

// Where the optimizer steps on the host, gradients come from the device.
TEST(KgeResidentTest, StepsOnTheHostWhereItMust) {
  TrainerOptions options = RunOptions();
  options.groups.lazy_rows = true;
  options.accumulate_grad_batches = 1;
  ExpectSameRun(Model(KgeModel::kDistMult), options);
}

TEST(KgeResidentTest, ResumingEqualsTheUninterruptedRun) {
  const KgeOptions kge = Model(KgeModel::kConvE, DType::kF32);
  TrainerOptions options = RunOptions();
  const std::string whole = NewDirectory(), parts = NewDirectory();
  ASSERT_EQ(TrainOn(kge, options, whole, true).status(), absl::OkStatus());
  options.mode = RunMode::kResumeOrNew;
  for (const int64_t steps : {1, 3, 4, 1000}) {
    options.stop.max_steps = steps;
    ASSERT_EQ(TrainOn(kge, options, parts, true).status(), absl::OkStatus());
  }
  const TensorFile actual = Last(parts), expected = Last(whole);
  for (const auto& [name, tensor] : expected.tensors) {
    const std::vector<double> found = actual.tensors.At(name).ToDoubles(), values = tensor.ToDoubles();
    ASSERT_EQ(found.size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(found[i] == values[i] || std::isnan(values[i])) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace rutile
