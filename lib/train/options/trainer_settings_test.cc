#include "lib/train/options/trainer_settings.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/sampling_policy.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The row of that name in one of the tables of TrainerOptions.
const Setting<TrainerOptions>& Row(absl::string_view name) {
  for (const auto table :
       {TrainingSettings(), BucketSettings(), MonitorSettings(), CheckpointSettings(), LogSettings()}) {
    const Setting<TrainerOptions>* row = FindSetting(table, name);
    if (row != nullptr) return *row;
  }
  ADD_FAILURE() << "no setting " << name;
  return TrainingSettings()[0];
}

TrainerOptions With(absl::string_view name, absl::string_view text) {
  TrainerOptions options;
  EXPECT_EQ(Row(name).Set(text, &options), absl::OkStatus()) << name << "=" << text;
  return options;
}

TEST(TrainerSettingsTest, TextReachesTheOptions) {
  EXPECT_EQ(With("seed", "-3").seed, -3);
  EXPECT_EQ(With("sampling_policy", "error_weighted").sampling_policy, SamplingPolicy::kErrorWeighted);
  EXPECT_EQ(With("gradient_clip_algorithm", "value").gradient_clip_algorithm, GradientClip::kValue);
  EXPECT_EQ(With("limit_train_batches", "10").limit_train_batches.batches, 10);
  EXPECT_EQ(With("limit_val_batches", "0.5").limit_val_batches.fraction, 0.5);
  EXPECT_EQ(With("overfit_batches", "2").overfit_batches.batches, 2);
  EXPECT_TRUE(With("overfit_batches", "").overfit_batches.all());
  EXPECT_EQ(With("compile_mode", "script").compile_mode, CompileMode::kScript);
  EXPECT_EQ(With("save_interval", "0.5").save_interval, absl::Milliseconds(500));
  EXPECT_EQ(With("keep_every_time", "10m").keep_every_time, absl::Minutes(10));
  EXPECT_EQ(With("keep_every_time", "").keep_every_time, absl::InfiniteDuration());
  EXPECT_EQ(With("log_interval", "1m30s").log_interval, absl::Seconds(90));
  EXPECT_EQ(With("log_interval", "0.5").log_interval, absl::Milliseconds(500));
  EXPECT_EQ(With("log_interval", "0").log_interval, absl::ZeroDuration());
  EXPECT_EQ(With("log_interval", "00:00:10:00").log_interval, absl::Minutes(10));
  EXPECT_THAT(With("logger", "jsonl").log_formats, ElementsAre(LogFormat::kJsonl));
}

// What a table shows of the defaults is what a user would write to get them.
TEST(TrainerSettingsTest, EachValueReadsBackFromItsText) {
  for (const auto table :
       {TrainingSettings(), BucketSettings(), MonitorSettings(), CheckpointSettings(), LogSettings()}) {
    for (const Setting<TrainerOptions>& row : table) {
      TrainerOptions options;
      const SettingValue value = row.Get(options);
      EXPECT_EQ(row.Set(SettingText(value), &options), absl::OkStatus()) << row.name;
      EXPECT_EQ(row.Get(options), value) << row.name;
    }
  }
}

TEST(TrainerSettingsTest, RefusesTextThatMeansNothing) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> refused = {
      {"sampling_policy", {"random"}},
      {"gradient_clip_algorithm", {"max"}},
      {"limit_train_batches", {"1.5", "0"}},
      {"overfit_batches", {"1.0", "-1"}},
      {"compile_mode", {"jit"}},
      {"save_interval", {"-1", "nan", "inf", "soon"}},
      {"keep_every_time", {"never", "0s"}},
      {"log_interval", {"", "-1", "nan", "inf", "1e300", "often"}},
      {"logger", {"csv"}}};
  for (const auto& [name, texts] : refused) {
    for (const std::string& text : texts) {
      TrainerOptions options;
      EXPECT_EQ(Row(name).Set(text, &options).code(), absl::StatusCode::kInvalidArgument) << name << "=" << text;
    }
  }
  TrainerOptions options;
  EXPECT_THAT(Row("compile_mode").Set("jit", &options),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"jit", "none, script, compile"}));
}

TEST(TrainerSettingsTest, SomeNeedOthers) {
  TrainerOptions options;
  EXPECT_TRUE(Row("shuffle").HasEffect(options));
  options.optimizer.kind = OptimizerKind::kLbfgs;
  EXPECT_STREQ(Row("shuffle").Unmet(options)->names, "optimizer");
  EXPECT_STREQ(Row("batch_size").Unmet(options)->names, "optimizer");
  options = With("sampling_policy", "energy_weighted");
  EXPECT_STREQ(Row("shuffle").Unmet(options)->names, "sampling_policy");
  options = With("overfit_batches", "1");
  EXPECT_STREQ(Row("shuffle").Unmet(options)->names, "overfit_batches");
  EXPECT_STREQ(Row("limit_val_batches").Unmet(options)->names, "overfit_batches");
  options = TrainerOptions();
  EXPECT_STREQ(Row("gradient_clip_algorithm").Unmet(options)->names, "gradient_clip_val");
  EXPECT_STREQ(Row("prefetch_factor").Unmet(options)->names, "num_workers");
  EXPECT_STREQ(Row("bucket_window").Unmet(options)->names, "bucket_by_size");
  options = With("compile_mode", "none");
  EXPECT_STREQ(Row("check_gradient").Unmet(options)->names, "compile_mode");
  options = With("logger", "none");
  EXPECT_STREQ(Row("log_every_n_steps").Unmet(options)->names, "logger");
  options.files = RunFiles::kAtEnd;
  for (const char* name : {"save_interval", "keep_every_steps", "save_top_k", "logger", "log_every_n_steps"}) {
    EXPECT_STREQ(Row(name).Unmet(options)->names, "barebones");
  }
  options.files = RunFiles::kNone;
  EXPECT_STREQ(Row("save_interval").Unmet(options)->names, "fast_dev_run");
  EXPECT_TRUE(Row("average_best").HasEffect(options));
}

TEST(TrainerSettingsTest, ChecksCoverEachTable) {
  const auto message = [](void (*change)(TrainerOptions*)) {
    TrainerOptions options;
    change(&options);
    return std::string(CheckTrainerOptions(options).message());
  };
  EXPECT_EQ(message([](TrainerOptions* o) { o->gradient_clip_val = -1; }),
            "gradient_clip_val is -1, expected a number above 0, or 0 for no limit");
  EXPECT_THAT(message([](TrainerOptions* o) { o->bucket_window = 0; }), HasSubstr("bucket_window is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->save_top_k = -2; }), HasSubstr("save_top_k is -2"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->save_interval = -absl::Seconds(1); }),
              HasSubstr("save_interval is -1"));
  EXPECT_EQ(message([](TrainerOptions* o) { o->save_interval = absl::InfiniteDuration(); }), "");
  EXPECT_THAT(message([](TrainerOptions* o) { o->stop.patience = -1; }), HasSubstr("patience is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->validation.every_epochs = 0; }),
              HasSubstr("check_val_every_n_epoch is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->ema.emplace().decay = 2; }), HasSubstr("ema_decay is 2"));
}

}  // namespace
}  // namespace rutile
