#include "lib/train/options/trainer_options.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/eager_options.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/options/batch_limit.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(TrainerOptionsTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(TrainerOptions*)) {
    TrainerOptions options;
    change(&options);
    return std::string(CheckTrainerOptions(options).message());
  };
  EXPECT_EQ(message([](TrainerOptions*) {}), "");
  EXPECT_THAT(message([](TrainerOptions* o) { o->batch_size = 0; }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->bucket_window = -1; }), HasSubstr("bucket_window is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->num_workers = -1; }), HasSubstr("num_workers is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->prefetch_factor = 0; }), HasSubstr("prefetch_factor is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->gradient_clip_val = -1; }), HasSubstr("gradient_clip_val is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->validation_batch_size = -1; }),
              HasSubstr("validation_batch_size is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->keep_every_time = absl::ZeroDuration(); }),
              HasSubstr("keep_every_time is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->check_cost = -1; }), HasSubstr("check_cost is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->log_every_n_steps = -1; }), HasSubstr("log_every_n_steps is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) {
                o->log_every_n_steps = 5;
                o->log_formats.clear();
              }),
              HasSubstr("there is no logger"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->optimizer.beta1 = 2; }), HasSubstr("beta1 is 2"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->stop.max_epochs = 0; }), HasSubstr("max_epochs is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->schedule.warmup_start = 2; }), HasSubstr("warmup_start is 2"));
  EXPECT_THAT(message([](TrainerOptions* o) {
                o->optimizer = DefaultOptimizerOptions("lbfgs").value();
                o->gradient_clip_val = 1;
              }),
              HasSubstr("does not go with lbfgs"));
}

TEST(TrainerOptionsTest, OtherPrecisionsAndDevicesAreForEagerModes) {
  const auto message = [](CompileMode mode, void (*change)(TrainerOptions*)) {
    TrainerOptions options;
    options.compile_mode = mode;
    change(&options);
    return std::string(CheckTrainerOptions(options).message());
  };
  const auto bf16 = [](TrainerOptions* o) { o->eager.precision = Precision::kBf16Mixed; };
  const auto fp16 = [](TrainerOptions* o) { o->eager.precision = Precision::kFp16Mixed; };
  const auto medium = [](TrainerOptions* o) { o->eager.matmul = FactorRounding::kBf16; };
  const auto cuda = [](TrainerOptions* o) { o->eager.device = "cuda:1"; };
  EXPECT_THAT(message(CompileMode::kCompile, bf16), HasSubstr("precision bf16-mixed does not go with compile_mode"));
  EXPECT_THAT(message(CompileMode::kCompile, medium), HasSubstr("float32_matmul_precision medium does not go with"));
  EXPECT_THAT(message(CompileMode::kCompile, cuda), HasSubstr("device cuda:1 does not go with compile_mode compile"));
  for (const CompileMode mode : {CompileMode::kNone, CompileMode::kScript}) {
    EXPECT_EQ(message(mode, bf16), "");
    EXPECT_EQ(message(mode, medium), "");
    EXPECT_EQ(message(mode, cuda), "");
    EXPECT_THAT(message(mode, fp16), HasSubstr("fp16-mixed needs a CUDA device"));
  }
  EXPECT_THAT(message(CompileMode::kNone,
                      [](TrainerOptions* o) {
                        o->eager.precision = Precision::kBf16Mixed;
                        o->optimizer = DefaultOptimizerOptions("lbfgs").value();
                      }),
              HasSubstr("bf16-mixed does not go with lbfgs"));
}

TEST(TrainerOptionsTest, RefusesBucketsWhereTheyCannotWork) {
  TrainerOptions options;
  options.bucket_by_size = true;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.sampling_policy = SamplingPolicy::kUniform;
  options.shuffle = false;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("shuffle off"));
  options.shuffle = true;
  options.overfit_batches.batches = 3;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("with overfit_batches"));
  options.overfit_batches = BatchLimit();
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("bucket_by_size does not go with lbfgs"));
}

TEST(TrainerOptionsTest, RefusesPoliciesWhereTheyCannotWork) {
  TrainerOptions options;
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.shuffle = false;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("shuffle off"));
  options.shuffle = true;
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("use compile_mode compile"));
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()),
              HasSubstr("sampling_policy energy_weighted does not go with lbfgs"));
  options.sampling_policy = SamplingPolicy::kUniform;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
