// Trains embeddings by the sampled softmax in steps of the rows that a batch touches: what such a run must have in
// common with steps of all rows, with several processes, and with itself when it is resumed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_task.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const KnowledgeGraph> Ring() {
  constexpr int32_t kEntities = 150;
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < kEntities; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "after", "before"};
  for (int32_t e = 0; e < 100; ++e) graph->train.push_back({e, e % 3, (e * 7 + 1) % kEntities});
  for (int32_t e = 0; e < 20; ++e) graph->valid.push_back({e, (e + 1) % 3, (e * 7 + 2) % kEntities});
  return graph;
}

KgeOptions Model(KgeModel model = KgeModel::kComplEx) {
  KgeOptions options;
  options.model = model;
  options.loss = KgeLoss::kOneVsAll;
  options.label_smoothing = 0;
  options.precision = DType::kF64;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.kernel_height = options.kernel_width = 2;
  options.negatives_per_batch = 20;
  options.seed = 3;
  return options;
}

TrainerOptions RunOptions(const char* optimizer = "rowwise-adagrad") {
  TrainerOptions options;
  options.batch_size = 16;
  options.stop.max_epochs = 4;
  options.check_gradient = false;
  options.save_interval = absl::Seconds(100);
  options.optimizer = DefaultOptimizerOptions(optimizer).value();
  options.optimizer.learning_rate = 0.1;
  return options;
}

std::string NewDirectory() {
  static int next = 0;
  return absl::StrCat(::testing::TempDir(), "/rows", next++);
}

absl::StatusOr<TrainResult> TrainOn(const KgeOptions& kge, const TrainerOptions& options,
                                    const std::string& directory = NewDirectory(), int threads = 1) {
  const std::unique_ptr<KgeTask> task = KgeTask::Create(Ring(), nullptr, kge, threads).value();
  const Split split = {task->examples().TrainExamples(), task->examples().ValidExamples(), {}};
  return Train(*task, split, options, directory, {});
}

void ExpectNear(const TrainResult& actual, const TrainResult& expected, double tolerance) {
  EXPECT_EQ(actual.steps, expected.steps);
  EXPECT_NEAR(actual.train_loss, expected.train_loss, tolerance);
  const std::vector<double> a = actual.best_parameters.ToDoubles(), e = expected.best_parameters.ToDoubles();
  ASSERT_EQ(a.size(), e.size());
  for (size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a[i], e[i], tolerance) << i;
}

// The loss of a batch is the sum over pieces of it, so that processes, each with the gradient of all rows, make the
// run of one process with the rows of its batches, to rounding. They draw the same negatives.
TEST(KgeRowsTest, ProcessesWithAllRowsMakeTheSameRun) {
  for (const char* optimizer : {"rowwise-adagrad", "adagrad", "sgd"}) {
    for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kDistMult}) {
      SCOPED_TRACE(absl::StrCat(optimizer, " ", kKgeModelNames.Name(model)));
      const absl::StatusOr<TrainResult> alone = TrainOn(Model(model), RunOptions(optimizer));
      ASSERT_TRUE(alone.ok()) << alone.status();
      RunAsThreads(2, [&](Communicator* communicator) {
        static const std::string* directory = new std::string(NewDirectory());
        TrainerOptions own = RunOptions(optimizer);
        own.mode = RunMode::kOverwrite;
        own.communicator = communicator;
        const absl::StatusOr<TrainResult> result = TrainOn(Model(model), own, *directory);
        ASSERT_TRUE(result.ok()) << result.status();
        ExpectNear(*result, *alone, 1e-9);
      });
    }
  }
}

// Clipping, regularizers and the loss of relations see the rows alone. A limit that is never reached changes no more
// than rounding.
TEST(KgeRowsTest, OtherTermsAndClippingGoWithRows) {
  KgeOptions kge = Model();
  kge.regularizer = KgeRegularizer::kN3;
  kge.relation_prediction = 0.3;
  TrainerOptions options = RunOptions();
  const absl::StatusOr<TrainResult> plain = TrainOn(kge, options);
  options.gradient_clip_val = 1e6;
  const absl::StatusOr<TrainResult> clipped = TrainOn(kge, options);
  ASSERT_TRUE(plain.ok() && clipped.ok()) << plain.status() << clipped.status();
  ExpectNear(*clipped, *plain, 1e-10);
  options.gradient_clip_val = 1e-3;
  const absl::StatusOr<TrainResult> alone = TrainOn(kge, options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_GT(std::abs(alone->train_loss - plain->train_loss), 1e-6);
}

TEST(KgeRowsTest, ResumedRunsAndThreadsHaveTheSameBits) {
  for (const char* optimizer : {"rowwise-adagrad", "adam"}) {
    for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kConvE}) {
      SCOPED_TRACE(absl::StrCat(optimizer, " ", kKgeModelNames.Name(model)));
      TrainerOptions options = RunOptions(optimizer);
      if (options.optimizer.kind == OptimizerKind::kAdam) options.groups.lazy_rows = true;
      const absl::StatusOr<TrainResult> whole = TrainOn(Model(model), options);
      ASSERT_TRUE(whole.ok()) << whole.status();
      const absl::StatusOr<TrainResult> threads = TrainOn(Model(model), options, NewDirectory(), 2);
      ASSERT_TRUE(threads.ok()) << threads.status();
      EXPECT_EQ(threads->best_parameters.ToDoubles(), whole->best_parameters.ToDoubles());
      const std::string directory = NewDirectory();
      TrainerOptions part = options;
      part.mode = RunMode::kResumeOrNew;
      part.stop.max_steps = 9;  // within the second epoch
      ASSERT_TRUE(TrainOn(Model(model), part, directory).ok());
      part.stop.max_steps = -1;
      const absl::StatusOr<TrainResult> resumed = TrainOn(Model(model), part, directory);
      ASSERT_TRUE(resumed.ok()) << resumed.status();
      EXPECT_EQ(resumed->best_parameters.ToDoubles(), whole->best_parameters.ToDoubles());
      // Another number of negatives is another loss.
      KgeOptions other = Model(model);
      other.negatives_per_batch = 21;
      part.stop.max_epochs = 5;
      EXPECT_THAT(TrainOn(other, part, directory).status().ToString(), HasSubstr("negatives_per_batch"));
    }
  }
}

// A table whose rows are divided among processes does not have the negatives of a batch.
TEST(KgeRowsTest, ModelsInPartsAreRefused) {
  EXPECT_FALSE(CanShard(Model()));
  TrainerOptions options = RunOptions();
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = options;
    own.communicator = communicator;
    own.shard_model = true;
    KgeOptions full = Model();
    full.negatives_per_batch = 0;
    EXPECT_THAT(TrainOn(full, own).status().ToString(), HasSubstr("rowwise-adagrad"));
  });
}

}  // namespace
}  // namespace rutile
