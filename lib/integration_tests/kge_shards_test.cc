// Compares training of embeddings whose model is sharded over processes (here threads; --strategy=tensor_parallel) with
// one process: results, files and resumption, with the trainer's techniques.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_examples.h"
#include "lib/kge/training/kge_task.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kEntities = 150;  // so few that heads are much of them or not, depending on the batch's size

std::shared_ptr<const KnowledgeGraph> Ring() {
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < kEntities; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "after", "before"};
  for (int32_t e = 0; e < 100; ++e) graph->train.push_back({e, e % 3, (e * 7 + 1) % kEntities});
  for (int32_t e = 0; e < 20; ++e) graph->valid.push_back({e, (e + 1) % 3, (e * 7 + 2) % kEntities});
  return graph;
}

KgeOptions Model(KgeModel model, KgeLoss loss = KgeLoss::kOneToN, DType precision = DType::kF64) {
  KgeOptions options;
  options.model = model;
  options.loss = loss;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.kernel_height = options.kernel_width = 2;
  options.seed = 3;
  return options;
}

absl::StatusOr<TrainResult> TrainOn(const KgeOptions& kge, const TrainerOptions& options, const std::string& directory,
                                    FactorRounding factors = FactorRounding::kNone) {
  const std::unique_ptr<KgeTask> task = KgeTask::Create(Ring(), nullptr, kge, /*num_threads=*/1, factors).value();
  const Split split = {task->examples().TrainExamples(), task->examples().ValidExamples(), {}};
  return Train(*task, split, options, directory, {});
}

TrainerOptions RunOptions() {
  TrainerOptions options;
  options.batch_size = 16;
  options.stop.max_epochs = 4;
  options.check_gradient = false;
  options.save_interval = absl::Seconds(100);
  return options;
}

// Returns the result of rank 0, after checking that all ranks have the same.
absl::StatusOr<TrainResult> TrainTogether(int size, const KgeOptions& kge, const TrainerOptions& options,
                                          const std::string& directory) {
  std::vector<absl::StatusOr<TrainResult>> results(size, absl::UnknownError("not run"));
  RunAsThreads(size, [&](Communicator* communicator) {
    TrainerOptions own = options;
    own.communicator = communicator;
    own.shard_model = true;
    results[communicator->rank()] = TrainOn(kge, own, directory);
  });
  for (const absl::StatusOr<TrainResult>& result : results) {
    EXPECT_EQ(result.status().code(), results[0].status().code());
    if (!result.ok() || !results[0].ok()) continue;
    EXPECT_EQ(result->steps, results[0]->steps);
    EXPECT_EQ(result->best_step, results[0]->best_step);
    EXPECT_EQ(result->best_parameters.ToDoubles(), results[0]->best_parameters.ToDoubles());  // to the last bit
  }
  return results[0];
}

std::string NewDirectory() {
  static int next = 0;
  return absl::StrCat(::testing::TempDir(), "/shards", next++);
}

void ExpectSameNumbers(const std::string& actual, const std::string& expected, double tolerance) {
  const TensorFile a = ReadTensorFile(actual).value(), e = ReadTensorFile(expected).value();
  EXPECT_EQ(a.tensors.size(), e.tensors.size());
  for (const auto& [name, tensor] : e.tensors) {
    const std::vector<double> found = a.tensors.At(name).ToDoubles(), wanted = tensor.ToDoubles();
    ASSERT_EQ(found.size(), wanted.size()) << name;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (found[i] == wanted[i] || (std::isnan(wanted[i]) && std::isnan(found[i]))) continue;
      EXPECT_NEAR(found[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << name << " " << i;
    }
  }
}

void ExpectSameRun(const KgeOptions& kge, const TrainerOptions& options, double tolerance = 1e-9) {
  const std::string alone_directory = NewDirectory();
  const absl::StatusOr<TrainResult> alone = TrainOn(kge, options, alone_directory);
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (const int size : {2, 3}) {
    SCOPED_TRACE(absl::StrCat(kKgeModelNames.Name(kge.model), ", ", size, " processes"));
    const std::string directory = NewDirectory();
    const absl::StatusOr<TrainResult> result = TrainTogether(size, kge, options, directory);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->steps, alone->steps);
    EXPECT_EQ(result->best_step, alone->best_step);
    EXPECT_NEAR(result->best_loss, alone->best_loss, tolerance);
    EXPECT_NEAR(result->train_loss, alone->train_loss, tolerance);
    const RunDirectory own(directory), other(alone_directory);
    ExpectSameNumbers(own.checkpoint(), other.checkpoint(), tolerance);
    ExpectSameNumbers(own.best(), other.best(), tolerance);
    ExpectSameNumbers(own.last(), other.last(), tolerance);
    const std::vector<std::string> numbered = own.NumberedCheckpoints(), expected = other.NumberedCheckpoints();
    ASSERT_EQ(numbered.size(), expected.size());
    for (size_t i = 0; i < numbered.size(); ++i) ExpectSameNumbers(numbered[i], expected[i], tolerance);
  }
}

TEST(KgeShardsTest, EqualOneProcess) {
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx}) {
    for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) ExpectSameRun(Model(model, loss), RunOptions());
  }
  ExpectSameRun(Model(KgeModel::kConvE, KgeLoss::kOneToN, DType::kF32), RunOptions(), 1e-3);
}

// Factors of products are rounded, so a sum in another order can round one of them in the other direction.
TEST(KgeShardsTest, EqualOneProcessWithRoundedFactors) {
  const KgeOptions kge = Model(KgeModel::kConvE, KgeLoss::kOneToN, DType::kF32);
  for (const FactorRounding factors : {FactorRounding::kTwoParts, FactorRounding::kBf16}) {
    const absl::StatusOr<TrainResult> alone = TrainOn(kge, RunOptions(), NewDirectory(), factors);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const std::string directory = NewDirectory();
    RunAsThreads(2, [&](Communicator* communicator) {
      TrainerOptions options = RunOptions();
      options.communicator = communicator;
      options.shard_model = true;
      const absl::StatusOr<TrainResult> result = TrainOn(kge, options, directory, factors);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_NEAR(result->train_loss, alone->train_loss, 1e-3 * alone->train_loss);
    });
  }
}

// Batches of 64 have more heads than the early update of rows allows.
TEST(KgeShardsTest, EqualOneProcessInLargeBatches) {
  TrainerOptions options = RunOptions();
  options.batch_size = 64;
  ExpectSameRun(Model(KgeModel::kConvE), options);
}

TEST(KgeShardsTest, EqualOneProcessWithEverythingAtOnce) {
  TrainerOptions options = RunOptions();
  options.save_interval = absl::ZeroDuration();  // after each step
  options.accumulate_grad_batches = 3;
  options.gradient_clip_val = 0.01;
  options.ema = EmaOptions();
  options.average_best = 2;
  options.save_top_k = 2;
  options.keep_every_steps = 4;
  options.keep_every_epochs = 2;
  options.validation.fraction = 0.5;
  options.num_workers = 2;
  options.optimizer = DefaultOptimizerOptions("adamw").value();
  options.optimizer.weight_decay = 0.1;
  options.groups.decay_biases = false;
  ExpectSameRun(Model(KgeModel::kConvE), options);
  options.gradient_clip_val = 1e-3;
  options.gradient_clip_algorithm = GradientClip::kValue;
  ExpectSameRun(Model(KgeModel::kConvE), options);
}

TEST(KgeShardsTest, EqualOneProcessWithEachOptimizer) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "schedule-free-adamw"}) {
    TrainerOptions options = RunOptions();
    options.optimizer = DefaultOptimizerOptions(name).value();
    ExpectSameRun(Model(KgeModel::kDistMult), options);
  }
}

// There are more relations than a batch uses.
TEST(KgeShardsTest, EqualOneProcessWithLazyRows) {
  TrainerOptions options = RunOptions();
  options.groups.lazy_rows = true;
  ExpectSameRun(Model(KgeModel::kConvE), options);
  ExpectSameRun(Model(KgeModel::kDistMult), options);
}

TEST(KgeShardsTest, WithoutValidationTheTrainingLossIsMonitored) {
  TrainerOptions options = RunOptions();
  options.monitor = "train_loss";
  ExpectSameRun(Model(KgeModel::kConvE), options);
}

// A run that a signal ended can resume in any number of processes, also in one.
TEST(KgeShardsTest, ASignalEndsAllAndAnyNumberGoesOn) {
  const KgeOptions kge = Model(KgeModel::kConvE);
  const TrainerOptions options = RunOptions();
  const std::string whole_directory = NewDirectory();
  ASSERT_TRUE(TrainOn(kge, options, whole_directory).ok());
  for (const int size : {1, 3}) {
    const std::string directory = NewDirectory();
    RunAsThreads(2, [&](Communicator* communicator) {
      TrainerOptions own = options;
      own.communicator = communicator;
      own.shard_model = true;
      own.on_step = [&](const StepReport& report) {
        if (communicator->rank() == 1 && report.step == 9) SetInterruptForTest(SIGUSR1);
      };
      EXPECT_EQ(TrainOn(kge, own, directory).status().code(), absl::StatusCode::kCancelled);
    });
    SetInterruptForTest(0);
    TrainerOptions resumed = options;
    resumed.mode = RunMode::kResume;
    ASSERT_TRUE((size == 1 ? TrainOn(kge, resumed, directory) : TrainTogether(size, kge, resumed, directory)).ok());
    ExpectSameNumbers(RunDirectory(directory).checkpoint(), RunDirectory(whole_directory).checkpoint(), 1e-9);
  }
}

// Resuming in the same number of processes gives the same bits as an uninterrupted run.
TEST(KgeShardsTest, ResumesBitForBit) {
  const KgeOptions kge = Model(KgeModel::kConvE, KgeLoss::kOneToN, DType::kF32);
  TrainerOptions options = RunOptions();
  const std::string whole = NewDirectory(), parts = NewDirectory();
  ASSERT_TRUE(TrainTogether(2, kge, options, whole).ok());
  options.stop.max_epochs = 2;
  ASSERT_TRUE(TrainTogether(2, kge, options, parts).ok());
  options.stop.max_epochs = 4;
  options.mode = RunMode::kResume;
  ASSERT_TRUE(TrainTogether(2, kge, options, parts).ok());
  ExpectSameNumbers(RunDirectory(parts).checkpoint(), RunDirectory(whole).checkpoint(), 0);
}

// All processes end, and the failed batch is written with the whole model as it was before the step.
TEST(KgeShardsTest, AGradientThatIsNotFiniteEndsAll) {
  const KgeOptions kge = Model(KgeModel::kDistMult, KgeLoss::kOneToN, DType::kF32);
  const std::unique_ptr<KgeTask> task = KgeTask::Create(Ring(), nullptr, kge, 1).value();
  TrainerOptions options = RunOptions();
  options.initial_parameters = task->InitialParameters(1);
  const std::vector<ParameterSlice> slices = task->parameter_slices();
  const absl::Span<float> p = options.initial_parameters.mutable_values<float>();
  std::fill_n(p.begin() + 3 * 12, 12, 1e25f);
  std::fill_n(p.begin() + slices[1].offset, slices[1].num_elements(), 1e-25f);
  const std::vector<double> before = options.initial_parameters.ToDoubles();
  options.shuffle = false;
  const std::string directory = NewDirectory();
  const absl::Status status = TrainTogether(2, kge, options, directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not finite in epoch 1, step 1"));
  const TensorFile failed = ReadTensorFile(RunDirectory(directory).failed_batch()).value();
  for (const ParameterSlice& slice : slices) {
    const std::vector<double> found = failed.tensors.At(absl::StrCat("parameters.", slice.name)).ToDoubles();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), before.begin() + slice.offset)) << slice.name;
  }
}

TEST(KgeShardsTest, RefusesWhatDoesNotGoTogether) {
  TrainerOptions options = RunOptions();
  options.shard_model = true;
  EXPECT_THAT(std::string(TrainOn(Model(KgeModel::kConvE), options, "").status().message()),
              HasSubstr("needs several processes"));
  const auto refusal = [&](const std::function<void(TrainerOptions*)>& change) {
    TrainerOptions changed = RunOptions();
    change(&changed);
    return std::string(TrainTogether(2, Model(KgeModel::kDistMult), changed, "").status().message());
  };
  EXPECT_THAT(refusal([](TrainerOptions* o) { o->compile_mode = CompileMode::kNone; }), HasSubstr("compile_mode"));
  EXPECT_THAT(refusal([](TrainerOptions* o) { o->optimizer = DefaultOptimizerOptions("lbfgs").value(); }),
              HasSubstr("lbfgs"));
  EXPECT_THAT(refusal([](TrainerOptions* o) {
                ParameterGroup group;
                group.glob = "entity.weight";
                group.optimizer = DefaultOptimizerOptions("sgd").value();
                o->groups.groups = {group};
              }),
              HasSubstr("parameter groups"));
}

}  // namespace
}  // namespace rutile
