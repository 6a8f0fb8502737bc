// Compares training of embeddings whose rows are updated while the gradient is computed (lib/optimizer/fused_step.h)
// with runs that update them after the whole gradient, which a limit to its norm, too high to be reached, enforces.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_task.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

constexpr int32_t kEntities = 700;  // a block and a half

std::shared_ptr<const KnowledgeGraph> Ring() {
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < kEntities; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "after"};
  graph->inverse_relations = false;
  for (int32_t e = 0; e < 100; ++e) graph->train.push_back({e, e % 2, (e * 7 + 1) % kEntities});
  return graph;
}

KgeOptions Options(KgeModel model, ConveVariant variant, KgeLoss loss, DType precision) {
  KgeOptions options;
  options.model = model;
  options.variant = variant;
  options.loss = loss;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.kernel_width = 2;
  options.seed = 3;
  if (loss == KgeLoss::kKvsAll) options.candidate_dropout = 0.2;
  if (loss == KgeLoss::kOneToN && model == KgeModel::kComplEx) options.regularizer = KgeRegularizer::kDura;
  return options;
}

std::unique_ptr<KgeTask> MakeTask(const KgeOptions& options, FactorRounding factors = FactorRounding::kNone,
                                  int num_threads = 1) {
  return KgeTask::Create(Ring(), nullptr, options, num_threads, factors).value();
}

absl::StatusOr<TrainResult> TrainOn(KgeTask& task, const TrainerOptions& options, const std::string& directory) {
  Split split;
  split.train.resize(task.num_examples());
  std::iota(split.train.begin(), split.train.end(), 0);
  return Train(task, split, options, directory, {});
}

TrainerOptions RunOptions() {
  TrainerOptions options;
  options.batch_size = 16;
  options.stop.max_epochs = 3;
  options.check_gradient = false;
  options.files = RunFiles::kNone;
  return options;
}

TEST(KgeFusedStepTest, IsTheStepOfTheWholeGradientToTheBit) {
  for (const DType precision : {DType::kF32, DType::kF64}) {
    for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx}) {
      for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
        for (const FactorRounding factors : {FactorRounding::kNone, FactorRounding::kTwoParts, FactorRounding::kBf16}) {
          if (factors != FactorRounding::kNone && precision == DType::kF64) continue;
          SCOPED_TRACE(absl::StrCat(kKgeModelNames.Name(model), " ", kKgeLossNames.Name(loss), " ",
                                    DTypeName(precision), static_cast<int>(factors)));
          const KgeOptions kge = Options(model, ConveVariant::kDettmers, loss, precision);
          TrainerOptions options = RunOptions();
          std::vector<double> norms;
          options.on_step = [&](const StepReport& report) { norms.push_back(report.gradient_norm); };
          const auto early = TrainOn(*MakeTask(kge, factors), options, "");
          const auto threads = TrainOn(*MakeTask(kge, factors, /*num_threads=*/2), options, "");
          options.gradient_clip_val = 1e30;
          const auto whole = TrainOn(*MakeTask(kge, factors), options, "");
          ASSERT_TRUE(early.ok() && threads.ok() && whole.ok());
          EXPECT_EQ(early->best_parameters.ToDoubles(), whole->best_parameters.ToDoubles());
          EXPECT_EQ(early->best_parameters.ToDoubles(), threads->best_parameters.ToDoubles());
          EXPECT_EQ(early->train_loss, whole->train_loss);
          // The squares of norms are summed in another order.
          const size_t steps = norms.size() / 3;
          for (size_t i = 0; i < steps; ++i) {
            EXPECT_EQ(norms[i], norms[i + steps]);
            EXPECT_NEAR(norms[i], norms[i + 2 * steps], 1e-13 * norms[i]);
          }
        }
      }
    }
  }
}

// With a head of 1e25 and a relation of 1e-25, the loss and all gradients of entities are finite, but the relation's
// gradient, which comes last, is their product with 1e25. The failed batch is written with the parameters before the
// step.
TEST(KgeFusedStepTest, WhatMovedBeforeAGradientThatIsNotFiniteIsPutBack) {
  const KgeOptions kge = Options(KgeModel::kDistMult, ConveVariant::kDettmers, KgeLoss::kOneToN, DType::kF32);
  const std::unique_ptr<KgeTask> task = MakeTask(kge);
  TrainerOptions options = RunOptions();
  options.files = RunFiles::kAll;
  options.initial_parameters = task->InitialParameters(1);
  const std::vector<ParameterSlice> slices = task->parameter_slices();
  const absl::Span<float> p = options.initial_parameters.mutable_values<float>();
  std::fill_n(p.begin() + 3 * 12, 12, 1e25f);
  std::fill_n(p.begin() + slices[1].offset, 24, 1e-25f);
  const std::vector<double> before = options.initial_parameters.ToDoubles();
  const std::string directory = absl::StrCat(::testing::TempDir(), "/not_finite");
  options.batch_size = 80;  // includes that head, and is the largest number of heads for which rows are updated early
  options.shuffle = false;
  const absl::Status status = TrainOn(*task, options, directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("the gradient is not finite in epoch 1, step 1"));
  const TensorFile failed = ReadTensorFile(RunDirectory(directory).failed_batch()).value();
  for (const ParameterSlice& slice : slices) {
    const std::vector<double> found = failed.tensors.At(absl::StrCat("parameters.", slice.name)).ToDoubles();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), before.begin() + slice.offset)) << slice.name;
  }
  EXPECT_FALSE(std::isfinite(failed.tensors.At("gradient_norm").ToDoubles()[0]));
  EXPECT_TRUE(std::isfinite(failed.tensors.At("loss").ToDoubles()[0]));
}

}  // namespace
}  // namespace rutile
