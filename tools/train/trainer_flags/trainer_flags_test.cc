#include "tools/train/trainer_flags/trainer_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/train/options/trainer_options.h"

// The tool has this flag, which --barebones refuses.
DEFINE_bool(progress, true, "Show progress.");

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Flags = std::vector<std::pair<const char*, const char*>>;

// With these flags given, and no others.
absl::StatusOr<TrainerOptions> Options(const Flags& flags) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : flags) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  return TrainerOptionsFromFlags();
}

std::string Message(const Flags& flags) { return std::string(Options(flags).status().message()); }

TEST(TrainerFlagsTest, EachFlagReachesItsOption) {
  const auto options = Options({{"seed", "-7"},
                                {"batch_size", "5"},
                                {"gradient_clip_val", "0.5"},
                                {"gradient_clip_algorithm", "value"},
                                {"limit_train_batches", "0.25"},
                                {"limit_val_batches", "3"},
                                {"bucket_by_size", "true"},
                                {"bucket_window", "9"},
                                {"compile_mode", "script"},
                                {"num_workers", "2"},
                                {"prefetch_factor", "4"},
                                {"max_time", "1h30m"},
                                {"patience", "2"},
                                {"min_delta", "0.5"},
                                {"val_check_interval", "500"},
                                {"save_interval", "0.5"},
                                {"keep_every_time", "00:00:10:00"},
                                {"logger", "jsonl"},
                                {"log_every_n_steps", "3"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->seed, -7);
  EXPECT_EQ(options->batch_size, 5);
  EXPECT_EQ(options->gradient_clip_val, 0.5);
  EXPECT_EQ(options->gradient_clip_algorithm, GradientClip::kValue);
  EXPECT_EQ(options->limit_train_batches.fraction, 0.25);
  EXPECT_EQ(options->limit_val_batches.batches, 3);
  EXPECT_TRUE(options->bucket_by_size);
  EXPECT_EQ(options->bucket_window, 9);
  EXPECT_EQ(options->compile_mode, CompileMode::kScript);
  EXPECT_EQ(options->num_workers, 2);
  EXPECT_EQ(options->prefetch_factor, 4);
  EXPECT_EQ(options->stop.max_time, absl::Minutes(90));
  EXPECT_EQ(options->stop.patience, 2);
  EXPECT_EQ(options->stop.min_delta, 0.5);
  EXPECT_EQ(options->validation.every_steps, 500);
  EXPECT_EQ(options->save_interval, absl::Milliseconds(500));
  EXPECT_EQ(options->keep_every_time, absl::Minutes(10));
  EXPECT_THAT(options->log_formats, ElementsAre(LogFormat::kJsonl));
  EXPECT_EQ(options->log_every_n_steps, 3);
}

TEST(TrainerFlagsTest, TrialsStandForSeveralSettings) {
  const auto trial = Options({{"fast_dev_run", "2"}});
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->stop.max_epochs, 1);
  EXPECT_EQ(trial->limit_train_batches.batches, 2);
  EXPECT_EQ(trial->limit_val_batches.batches, 2);
  EXPECT_EQ(trial->files, RunFiles::kNone);
  EXPECT_THAT(trial->log_formats, IsEmpty());
  EXPECT_EQ(Options({{"barebones", "true"}})->files, RunFiles::kAtEnd);
}

TEST(TrainerFlagsTest, RefusesWhatHasNoEffect) {
  const std::vector<std::pair<Flags, const char*>> refused = {
      {{{"optimizer", "lbfgs"}, {"shuffle", "true"}}, "--shuffle has no effect with --optimizer=lbfgs"},
      {{{"overfit_batches", "1"}, {"shuffle", "false"}}, "--shuffle has no effect with --overfit_batches=1"},
      {{{"overfit_batches", "1"}, {"limit_val_batches", "2"}}, "--limit_val_batches has no effect with"},
      {{{"sampling_policy", "energy_weighted"}, {"shuffle", "true"}}, "with --sampling_policy=energy_weighted"},
      {{{"gradient_clip_algorithm", "norm"}}, "--gradient_clip_algorithm has no effect with --gradient_clip_val=0"},
      {{{"prefetch_factor", "3"}}, "--prefetch_factor has no effect with --num_workers=0"},
      {{{"compile_mode", "none"}, {"check_gradient", "true"}}, "has no effect with --compile_mode=none"},
      {{{"bucket_window", "3"}}, "--bucket_window has no effect without --bucket_by_size"},
      {{{"min_delta", "1"}}, "--min_delta has no effect without --patience: leave it out"},
      {{{"min_steps", "1"}}, "without --patience or --divergence_threshold or --stopping_threshold"},
      {{{"check_val_every_n_epoch", "2"}, {"val_check_interval", "10m"}}, "with --val_check_interval=10m"},
      {{{"logger", "none"}, {"log_every_n_steps", "3"}}, "--log_every_n_steps has no effect with --logger=none"},
      {{{"barebones", "true"}, {"save_interval", "3"}}, "--save_interval has no effect with --barebones: leave"},
      {{{"fast_dev_run", "1"}, {"save_top_k", "3"}}, "--save_top_k has no effect with --fast_dev_run=1"},
      {{{"fast_dev_run", "1"}, {"max_steps", "3"}}, "--max_steps has no effect with --fast_dev_run"}};
  for (const auto& [flags, message] : refused) EXPECT_THAT(Message(flags), HasSubstr(message));
}

TEST(TrainerFlagsTest, RefusesBadValues) {
  const std::vector<std::pair<Flags, const char*>> refused = {
      {{{"batch_size", "-1"}}, "batch_size is -1, expected 1 or more"},
      {{{"gradient_clip_val", "-1"}}, "gradient_clip_val is -1, expected a number above 0, or 0 for no limit"},
      {{{"gradient_clip_val", "1"}, {"gradient_clip_algorithm", "max"}}, "--gradient_clip_algorithm=max: "},
      {{{"limit_train_batches", "1.5"}}, "--limit_train_batches=1.5: expected a number of batches, as in 10"},
      {{{"overfit_batches", "1.0"}}, "--overfit_batches=1.0: it is all of them"},
      {{{"compile_mode", "jit"}}, "the choices are none, script, compile"},
      {{{"max_epochs", "0"}}, "max_epochs is 0, expected 1 or more, or -1 for no limit"},
      {{{"max_time", "soon"}}, "--max_time=soon: expected DD:HH:MM:SS"},
      {{{"val_check_interval", "2.5"}}, "--val_check_interval=2.5: expected a share"},
      {{{"save_interval", "-1"}}, "--save_interval=-1: expected a number of seconds"},
      {{{"keep_every_time", "never"}}, "--keep_every_time=never: expected DD:HH:MM:SS"},
      {{{"logger", "csv"}}, "--logger=csv: found \"csv\""},
      {{{"fast_dev_run", "-1"}}, "--fast_dev_run=-1: expected a number of batches"}};
  for (const auto& [flags, message] : refused) EXPECT_THAT(Message(flags), HasSubstr(message));
}

}  // namespace
}  // namespace rutile
