// ForceTask on many-body potentials: the same task, another descriptor and kernel.

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/transfer.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/potential/training/force_task.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

AtomicData Tio2() {
  MomentOptions moments;
  moments.species = {22, 8};
  moments.cutoff = 3.2;
  moments.num_radial = 4;
  moments.max_l = 2;
  AtomicDataOptions options;
  options.descriptor = moments;
  absl::StatusOr<AtomicData> data = AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(data->CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  return *data;
}

AtomisticTaskOptions Options(double force_weight, double stress_weight, DType precision = DType::kF64) {
  AtomisticTaskOptions options;
  options.channels = 5;
  options.hidden = {6};
  options.activation = Activation::kSilu;
  options.feature_scaling = FeatureScalingKind::kPerSpecies;
  options.precision = precision;
  options.loss.kind = LossKind::kMse;
  options.loss.energy_weight = 1;
  options.loss.force_weight = force_weight;
  options.loss.stress_weight = stress_weight;
  return options;
}

std::vector<int64_t> Range(int64_t n) {
  std::vector<int64_t> range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

std::unique_ptr<ForceTask> Make(const AtomicData& data, const AtomisticTaskOptions& options, int64_t train = 60) {
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, Range(train));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

TEST(ManyBodyTaskTest, GradientsAgreeWithAutogradAndFiniteDifferences) {
  const AtomicData data = Tio2();
  for (const auto& [force, stress] : std::vector<std::pair<double, double>>{{0, 0}, {1, 0}, {0, 10}, {2, 5}}) {
    const std::unique_ptr<ForceTask> task = Make(data, Options(force, stress));
    NamedTensors batch;
    ASSERT_TRUE(task->MakeBatch({3, 20, 41}, &batch).ok());
    const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
    EXPECT_TRUE(status.ok()) << force << " " << stress << ": " << status;
  }
}

TEST(ManyBodyTaskTest, SinglePrecisionAgrees) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(1, 1, DType::kF32));
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch({3, 20, 41}, &batch).ok());
  const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
  EXPECT_TRUE(status.ok()) << status;
}

// A model that goes through its file predicts the same, and one that goes through other scales, too.
TEST(ManyBodyTaskTest, FilesAndTransfersKeepPredictions) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(1, 0)), other = Make(data, Options(1, 0), 200);
  const Tensor parameters = task->InitialParameters(5);
  const std::string path = ::testing::TempDir() + "/many_body.safetensors";
  ASSERT_TRUE(task->WriteModel(path, parameters, {}).ok());
  const absl::StatusOr<Potential> read = ReadPotential(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->parameters.ToDoubles(), parameters.ToDoubles());
  EXPECT_EQ(read->shape.moments.channels, 5);
  const Potential target = other->model().WithParameters(other->InitialParameters(6));
  ASSERT_NE(target.feature_scaling.scale, read->feature_scaling.scale);
  const absl::StatusOr<Transfer> transfer = TransferParameters(*read, target);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  Potential moved = target;
  moved.parameters = transfer->parameters;
  ForcePredictor a(absl::MakeConstSpan(&*read, 1)), b(absl::MakeConstSpan(&moved, 1));
  StructureGeometry geometry;
  geometry.species = data.species(7);
  geometry.position = data.position(7);
  geometry.cell = data.cell(7);
  geometry.pairs = data.pairs(7);
  AtomicPrediction before, after;
  a.Predict(geometry, {true, true, true}, true, &before);
  b.Predict(geometry, {true, true, true}, true, &after);
  EXPECT_NEAR(before.energy, after.energy, 1e-9 * std::abs(before.energy));
  for (size_t c = 0; c < before.force.size(); ++c) EXPECT_NEAR(before.force[c], after.force[c], 1e-9);
}

TEST(ManyBodyTaskTest, RefusesWhatItsKernelsDoNotHave) {
  const AtomicData data = Tio2();
  const auto message = [&](const AtomisticTaskOptions& options) {
    return std::string(ForceTask::Create(data, options, Range(10)).status().message());
  };
  AtomisticTaskOptions options = Options(1, 0);
  options.gpu = 0;
  EXPECT_THAT(message(options), HasSubstr("--device"));
  options = Options(1, 0, DType::kF32);
  options.mixed_precision = true;
  EXPECT_THAT(message(options), HasSubstr("bf16-mixed"));
  options = Options(1, 0);
  options.compile.preset = CompilePreset::kMaxAutotune;
  EXPECT_THAT(message(options), HasSubstr("max-autotune"));
  options = Options(1, 0);
  options.channels = 0;
  EXPECT_THAT(message(options), HasSubstr("channels"));
}

// The task learns the labels less the repulsion, which its model adds again.
TEST(ManyBodyTaskTest, ARepulsionIsSubtractedAndAdded) {
  const AtomicData data = Tio2();
  AtomisticTaskOptions options = Options(1, 1);
  const std::unique_ptr<ForceTask> whole = Make(data, options);
  options.zbl = {ZblOptions::Kind::kRadii, 0.8, 2};
  const std::unique_ptr<ForceTask> task = Make(data, options);
  options.zbl = {};
  const RepulsionRadii radii = {{0.8, 0.8, 0.8, 0.8}, {2, 2, 2, 2}};
  const absl::StatusOr<AtomicData> learned = LearnedLabels(data, radii, 1);
  ASSERT_TRUE(learned.ok()) << learned.status();
  const std::unique_ptr<ForceTask> expected = Make(*learned, options);
  EXPECT_EQ(task->model().targets(), expected->model().targets());
  EXPECT_NE(task->model().targets(), whole->model().targets());
  EXPECT_EQ(task->model().atomic_energies(), expected->model().atomic_energies());
  EXPECT_EQ(task->model().energy_scaling().scale, expected->model().energy_scaling().scale);
  const auto sums = [](ForceTask* of) {
    NamedTensors batch;
    EXPECT_TRUE(of->MakeBatch({3, 20, 41}, &batch).ok());
    TermSums result(3);
    std::vector<double> metrics(of->num_metric_sums());
    EXPECT_TRUE(of->Evaluate(of->InitialParameters(5), batch, &result, absl::MakeSpan(metrics)).ok());
    return metrics;
  };
  EXPECT_EQ(sums(task.get()), sums(expected.get()));
  const Potential potential = task->model().WithParameters(task->InitialParameters(5));
  EXPECT_TRUE(potential.repulsion == radii);
}

}  // namespace
}  // namespace rutile
