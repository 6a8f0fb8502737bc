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
#include "lib/testing/error_names.h"
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
  EXPECT_THAT(message([](TrainerOptions* o) { o->batch_size = 0; }), ErrorNames({"batch_size", "0"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->bucket_window = -1; }), ErrorNames({"bucket_window", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->num_workers = -1; }), ErrorNames({"num_workers", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->prefetch_factor = 0; }), ErrorNames({"prefetch_factor", "0"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->gradient_clip_val = -1; }), ErrorNames({"gradient_clip_val", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->validation_batch_size = -1; }),
              ErrorNames({"validation_batch_size", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->keep_every_time = absl::ZeroDuration(); }),
              ErrorNames({"keep_every_time", "0"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->check_cost = -1; }), ErrorNames({"check_cost", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->log_every_n_steps = -1; }), ErrorNames({"log_every_n_steps", "-1"}));
  EXPECT_THAT(message([](TrainerOptions* o) {
                o->log_every_n_steps = 5;
                o->log_formats.clear();
              }),
              HasSubstr("there is no logger"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->optimizer.beta1 = 2; }), ErrorNames({"beta1", "2"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->stop.max_epochs = 0; }), ErrorNames({"max_epochs", "0"}));
  EXPECT_THAT(message([](TrainerOptions* o) { o->schedule.warmup_start = 2; }), ErrorNames({"warmup_start", "2"}));
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
  EXPECT_THAT(message(CompileMode::kCompile, bf16), ErrorNames({"compile_mode", "precision", "bf16-mixed"}));
  EXPECT_THAT(message(CompileMode::kCompile, medium), ErrorNames({"float32_matmul_precision", "medium"}));
  EXPECT_THAT(message(CompileMode::kCompile, cuda), ErrorNames({"cuda:1", "compile_mode"}));
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
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), ErrorNames({"overfit_batches"}));
  options.overfit_batches = BatchLimit();
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), ErrorNames({"bucket_by_size", "lbfgs"}));
}

TEST(TrainerOptionsTest, RefusesPoliciesWhereTheyCannotWork) {
  TrainerOptions options;
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.shuffle = false;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("shuffle off"));
  options.shuffle = true;
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), ErrorNames({"compile_mode"}));
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()),
              ErrorNames({"sampling_policy", "energy_weighted", "lbfgs"}));
  options.sampling_policy = SamplingPolicy::kUniform;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
