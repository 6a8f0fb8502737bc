#include "tools/train/trainer_flags/ema_flags.h"

#include <gflags/gflags.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

using Flags = std::vector<std::pair<const char*, const char*>>;

// With these flags given, and no others.
absl::StatusOr<std::optional<EmaOptions>> Options(const Flags& flags) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : flags) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  return EmaOptionsFromFlags();
}

std::string Message(const Flags& flags) { return std::string(Options(flags).status().message()); }

TEST(EmaFlagsTest, OffUnlessAskedFor) {
  EXPECT_FALSE(Options({})->has_value());
  for (const auto& flag : Flags{{"ema_decay", "0.9"},
                                {"ema_decay_type", "constant"},
                                {"ema_beta", "1"},
                                {"ema_start_step", "5"},
                                {"ema_update_every_n_steps", "2"}}) {
    EXPECT_EQ(Message({flag}), std::string("--") + flag.first + " has no effect without --ema: leave it out");
  }
}

TEST(EmaFlagsTest, EachFlagReachesItsOption) {
  const EmaOptions defaults = Options({{"ema", "true"}})->value();
  EXPECT_EQ(defaults.type, EmaDecay::kThreshold);
  EXPECT_EQ(defaults.decay, EmaOptions().decay);
  EXPECT_EQ(defaults.beta, EmaOptions().beta);
  const EmaOptions options = Options({{"ema", "true"},
                                      {"ema_decay", "0.9"},
                                      {"ema_decay_type", "exp"},
                                      {"ema_beta", "3"},
                                      {"ema_start_step", "5"},
                                      {"ema_update_every_n_steps", "2"}})
                                 ->value();
  EXPECT_EQ(options.type, EmaDecay::kExponential);
  EXPECT_EQ(options.decay, 0.9);
  EXPECT_EQ(options.beta, 3);
  EXPECT_EQ(options.start_step, 5);
  EXPECT_EQ(options.update_every_n_steps, 2);
}

TEST(EmaFlagsTest, RefusesBadValues) {
  EXPECT_EQ(Message({{"ema", "true"}, {"ema_beta", "3"}}),
            "--ema_beta has no effect with --ema_decay_type=threshold: leave it out");
  EXPECT_THAT(Message({{"ema", "true"}, {"ema_decay", "1"}}), HasSubstr("decay is 1"));
  EXPECT_THAT(Message({{"ema", "true"}, {"ema_decay_type", "exponential"}}), HasSubstr("constant, threshold, exp"));
}

}  // namespace
}  // namespace rutile
