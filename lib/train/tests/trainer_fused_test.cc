// Runs whose optimizer steps are fused into the gradient pass equal runs without, also when resumed or failing.

#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The first term of the toy task, which hands the weights' gradient to the sink before the bias's is known.
class EarlyToy : public ToyTask, public GradientStream {
 public:
  explicit EarlyToy(bool early) : ToyTask({}), early_(early) {}

  GradientStream* stream() override { return early_ ? this : nullptr; }
  std::vector<GradientRange> EarlyGradients() const override { return {}; }
  std::vector<LossTerm> terms() const override { return {{"value", "V^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override {
    Loss loss;
    loss.value = sums.sum[0] / sums.count[0];
    loss.weight = {1 / sums.count[0]};
    return loss;
  }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override {
    return std::vector<double>(batch.At("y").num_elements(), 1.0);
  }

  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    return StreamGradients(parameters, batch, GradientDelivery::Add(), &gradients[0], sums);
  }
  absl::Status StreamGradients(const Tensor& parameters, const NamedTensors& batch, const GradientDelivery& delivery,
                               Tensor* gradient, TermSums* sums) override {
    const int64_t n = parameters.num_elements();
    std::vector<Tensor> terms(2);
    for (Tensor& term : terms) term = Tensor::Zeros(DType::kF64, {n});
    TermSums of_terms(2);
    EXPECT_TRUE(ToyTask::AccumulateGradients(parameters, batch, absl::MakeSpan(terms), &of_terms).ok());
    sums->sum[0] += of_terms.sum[0];
    sums->count[0] += of_terms.count[0];
    const absl::Span<double> made = terms[0].mutable_values<double>(), given = gradient->mutable_values<double>();
    if (++calls == nan_call) made[n - 1] = kNan;
    const int64_t handed = delivery.sink() == nullptr ? 0 : n - 1;
    if (delivery.sink() != nullptr) {
      delivery.sink()->Take(1, terms[0].Slice(1, {handed - 1}));
      delivery.sink()->Take(0, terms[0].Slice(0, {1}));
      ++handed_over;
    }
    if (calls == failing_call) return absl::InternalError("out of luck");
    for (int64_t i = handed; i < n; ++i) given[i] = delivery.overwrites() ? made[i] : given[i] + made[i];
    return absl::OkStatus();
  }

  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override {
    for (const double residual : Residuals(parameters, batch)) {
      sums->sum[0] += residual * residual;
      sums->count[0] += 1;
      metric_sums[0] += std::abs(residual);
      metric_sums[1] += 1;
    }
    return absl::OkStatus();
  }

  int calls = 0, handed_over = 0;
  int nan_call = -1, failing_call = -1;

 private:
  static std::vector<double> Residuals(const Tensor& parameters, const NamedTensors& batch) {
    const std::vector<double> p = parameters.ToDoubles();
    const size_t f = p.size() - 1;
    const auto x = batch.At("x").values<double>(), y = batch.At("y").values<double>();
    std::vector<double> residuals;
    for (size_t i = 0; i < y.size(); ++i) {
      double residual = p[f] - y[i];
      for (size_t j = 0; j < f; ++j) residual += p[j] * x[i * f + j];
      residuals.push_back(residual);
    }
    return residuals;
  }

  const bool early_;
};

TrainerOptions Options(int64_t max_epochs) {
  TrainerOptions options = ToyOptions(max_epochs);
  options.check_gradient = false;  // its reference has the toy's two terms
  options.save_interval = absl::ZeroDuration();
  return options;
}

absl::StatusOr<TrainResult> TrainEarly(EarlyToy* task, const TrainerOptions& options, const std::string& directory) {
  return Train(*task, ToySplit(*task), options, directory, {});
}

void ExpectSameRuns(const std::string& a, const std::string& b) {
  for (const char* file : {"/best.safetensors", "/last.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(a + file), FileBytes(b + file)) << file;
  }
  EXPECT_EQ(LogWithoutTimes(a), LogWithoutTimes(b));
}

// With every optimizer, an average and a changing learning rate, the files are the same, byte for byte.
TEST(TrainerEarlyTest, IsTheSameRun) {
  for (const char* name : {"adam", "adamw", "rmsprop", "adagrad", "schedule-free-adamw", "sgd"}) {
    SCOPED_TRACE(name);
    TrainerOptions options = Options(3);
    options.optimizer = DefaultOptimizerOptions(name).value();
    options.optimizer.learning_rate = 0.01;
    if (options.optimizer.kind != OptimizerKind::kScheduleFreeAdamW) {  // which has neither
      options.schedule.warmup_steps = 4;
      options.ema.emplace();
    }
    const std::string with = NewRunDirectory(), without = NewRunDirectory();
    EarlyToy early(true), whole(false);
    ASSERT_TRUE(TrainEarly(&early, options, with).ok());
    ASSERT_TRUE(TrainEarly(&whole, options, without).ok());
    EXPECT_EQ(early.handed_over, 21);
    EXPECT_EQ(whole.handed_over, 0);
    ExpectSameRuns(with, without);
  }
}

TEST(TrainerEarlyTest, ResumedIsTheSameRun) {
  TrainerOptions options = Options(3);
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  EarlyToy one(true), first(true), second(true);
  ASSERT_TRUE(TrainEarly(&one, options, whole).ok());
  options.on_step = [](const StepReport& report) {
    if (report.step == 9) SetInterruptForTest(SIGTERM);
  };
  EXPECT_EQ(TrainEarly(&first, options, parts).status().code(), absl::StatusCode::kCancelled);
  SetInterruptForTest(0);
  options.on_step = nullptr;
  options.mode = RunMode::kResume;
  ASSERT_TRUE(TrainEarly(&second, options, parts).ok());
  EXPECT_EQ(first.handed_over, 9);
  EXPECT_EQ(second.handed_over, 12);
  ExpectSameRuns(whole, parts);
}

// If the gradient is modified before the step, or only partly applied, no parameter is updated early.
TEST(TrainerEarlyTest, OnlyWhereTheGradientIsWhatMoves) {
  const auto handed_over = [](const TrainerOptions& options) {
    EarlyToy task(true);
    EXPECT_TRUE(TrainEarly(&task, options, NewRunDirectory()).ok());
    return task.handed_over;
  };
  EXPECT_EQ(handed_over(Options(1)), 7);
  TrainerOptions options = Options(1);
  options.gradient_clip_val = 1;
  EXPECT_EQ(handed_over(options), 0);
  options = Options(1);
  options.gradient_clip_val = 1;
  options.gradient_clip_algorithm = GradientClip::kValue;
  EXPECT_EQ(handed_over(options), 0);
  options = Options(1);
  options.accumulate_grad_batches = 2;
  EXPECT_EQ(handed_over(options), 0);
  options = Options(1);
  options.groups.groups.push_back({"bias", options.optimizer});
  options.groups.groups[0].optimizer.learning_rate = 0.01;
  EXPECT_EQ(handed_over(options), 7);
  options.groups.alternate_steps = 1;
  EXPECT_EQ(handed_over(options), 0);
}

// The bias's gradient is NaN after the weights were updated; the failed batch and the run hold the state before the
// step.
TEST(TrainerEarlyTest, NotFiniteLeavesNoTrace) {
  for (const int64_t steps : {0, 4, 10}) {
    SCOPED_TRACE(steps);
    const std::string failed = NewRunDirectory(), until = NewRunDirectory();
    TrainerOptions options = Options(3);
    EarlyToy task(true), before(true);
    task.nan_call = static_cast<int>(steps) + 1;
    const absl::Status status = TrainEarly(&task, options, failed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the gradient is not finite in epoch"));
    EXPECT_EQ(task.handed_over, steps + 1);
    const TensorFile batch = ReadTensorFile(RunDirectory(failed).failed_batch()).value();
    EXPECT_EQ(batch.tensors.At("step").values<int64_t>()[0], steps + 1);
    std::vector<double> expected = before.InitialParameters(options.seed).ToDoubles();
    if (steps > 0) {
      options.stop.max_steps = steps;
      ASSERT_TRUE(TrainEarly(&before, options, until).ok());
      const TensorFile checkpoint = ReadTensorFile(RunDirectory(until).checkpoint()).value();
      expected = checkpoint.tensors.At("parameters.weight").ToDoubles();
      expected.push_back(checkpoint.tensors.At("parameters.bias").ToDoubles()[0]);
      // The last checkpoint of the run that failed is that of its last good step.
      const TensorFile left = ReadTensorFile(RunDirectory(failed).checkpoint()).value();
      EXPECT_EQ(left.tensors.At("parameters.weight").ToDoubles(),
                checkpoint.tensors.At("parameters.weight").ToDoubles());
    } else {
      EXPECT_FALSE(FileExists(RunDirectory(failed).checkpoint()));
    }
    std::vector<double> found = batch.tensors.At("parameters.weight").ToDoubles();
    found.push_back(batch.tensors.At("parameters.bias").ToDoubles()[0]);
    EXPECT_EQ(found, expected);
  }
}

// An error of the task ends a fused run as it ends any other.
TEST(TrainerEarlyTest, ErrorsOfTheTaskComeBack) {
  EarlyToy task(true);
  task.failing_call = 5;
  EXPECT_EQ(TrainEarly(&task, Options(2), NewRunDirectory()).status(), absl::InternalError("out of luck"));
}

}  // namespace
}  // namespace rutile
