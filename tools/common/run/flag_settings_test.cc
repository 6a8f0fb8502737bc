#include "tools/common/run/flag_settings.h"

#include <gflags/gflags.h>

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/common/run/given_flags.h"

DEFINE_double(cut_off, 6, "A number.");
DEFINE_string(precision, "auto", "A choice.");
DEFINE_double(threshold, std::numeric_limits<double>::quiet_NaN(), "Off by default.");
DEFINE_double(decay, 0.98, "Not a sum of halves.");
DEFINE_bool(shuffle, true, "Another.");

namespace rutile {
namespace {

TEST(FlagSettingsTest, ValuesAndOrigins) {
  gflags::SetCommandLineOption("cut_off", "6");  // given, with the default's value
  gflags::SetCommandLineOption("shuffle", "false");
  RecordFlagOrigins({{"cut_off", "command line"}, {"shuffle", "flagfile x"}});
  FlagSettings settings;
  EXPECT_EQ(settings.settings().at("cut_off").origin, "command line");
  EXPECT_EQ(settings.settings().at("shuffle").origin, "flagfile x");
  EXPECT_EQ(settings.settings().at("shuffle").value, "false");
  EXPECT_EQ(settings.settings().at("precision").origin, "default");
  EXPECT_EQ(settings.settings().at("decay").value, "0.98");
  EXPECT_EQ(settings.settings().count("logtostderr"), 0) << "no flag of ours";

  EXPECT_FALSE(settings.settings().at("threshold").is_given);
  EXPECT_TRUE(FlagGiven("cut_off"));
  EXPECT_FALSE(FlagGiven("threshold")) << "NaN is not equal to itself";

  settings.Resolve("precision", "auto", "file");
  EXPECT_EQ(settings.settings().at("precision").origin, "default");
  settings.Resolve("precision", "fp64", "file");
  EXPECT_EQ(settings.settings().at("precision").value, "fp64");
  EXPECT_EQ(settings.settings().at("precision").origin, "file");
  settings.Resolve("cut_off", "7", "file");
  EXPECT_EQ(settings.settings().at("cut_off").value, "7");
  EXPECT_EQ(settings.settings().at("cut_off").given, "6");
  EXPECT_EQ(settings.settings().at("cut_off").origin, "command line");
  EXPECT_DEATH(settings.Resolve("cutoff", "7", "file"), "no flag cutoff");
}

}  // namespace
}  // namespace rutile
