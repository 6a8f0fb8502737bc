#include "tools/common/run/check_arguments.h"

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/common/run/flag_file.h"

DEFINE_double(rad_cutoff, 6, "Radial cutoff in Angstrom, at most 20.");
DEFINE_validator(rad_cutoff, [](const char*, double value) { return value > 0 && value <= 20; });
DEFINE_int32(max_epochs, 1000, "Passes.");
DEFINE_int32(min_epochs, 0, "Passes, too.");
DEFINE_string(format, "tsv", "tsv or json: how rows are written.");
DEFINE_validator(format, [](const char*, const std::string& value) { return value == "tsv" || value == "json"; });
DEFINE_bool(shuffle, true, "Another order in each epoch.");
DEFINE_string(not_ours, "", "Of a library.");

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string>& Names() {
  static const auto& names =
      *new std::vector<std::string>{"format", "help", "max_epochs", "min_epochs", "rad_cutoff", "shuffle"};
  return names;
}

std::string Message(const std::vector<std::string>& words) {
  const absl::StatusOr<std::vector<Argument>> arguments = ExpandFlagFiles(words);
  if (!arguments.ok()) return std::string(arguments.status().message());
  const absl::Status status = CheckArguments(*arguments, Names());
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST(CheckArgumentsTest, WhatIsRight) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--rad_cutoff=5", "in"},
                                                {"--rad-cutoff", "4.5", "-", "in"},
                                                {"--noshuffle"},
                                                {"-shuffle", "in", "--max_epochs", "-1"},
                                                {"--shuffle=no"},
                                                {"--help"},
                                                {"--format=json"},
                                                {"--", "--any"}}) {
    EXPECT_EQ(Message(words), "");
  }
  EXPECT_EQ(FLAGS_rad_cutoff, 4.5);
  EXPECT_EQ(FLAGS_format, "json");
}

TEST(CheckArgumentsTest, UnknownFlagsAndWhatTheyResemble) {
  EXPECT_EQ(Message({"in", "--rad_cutof=5"}), "unknown flag --rad_cutof; is it --rad_cutoff");
  EXPECT_EQ(Message({"--Rad-Cut-Off", "5"}), "unknown flag --Rad-Cut-Off; is it --rad_cutoff");
  EXPECT_EQ(Message({"--epochs=5"}), "unknown flag --epochs; is it --max_epochs or --min_epochs");
  EXPECT_EQ(Message({"-x"}), "unknown flag -x");
  EXPECT_EQ(Message({"--not_ours=1"}), "unknown flag --not_ours");
}

TEST(CheckArgumentsTest, Values) {
  EXPECT_EQ(Message({"--rad_cutoff=6A"}),
            "--rad_cutoff=6A: expected a number; it is: Radial cutoff in Angstrom, at most 20");
  EXPECT_EQ(Message({"--rad_cutoff=30"}),
            "--rad_cutoff=30 is out of range; it is: Radial cutoff in Angstrom, at most 20");
  EXPECT_EQ(Message({"--rad_cutoff="}),
            "--rad_cutoff=: expected a number; it is: Radial cutoff in Angstrom, at most 20");
  EXPECT_EQ(Message({"--max_epochs", "1e3"}), "--max_epochs=1e3: expected a whole number; it is: Passes");
  EXPECT_EQ(Message({"--max_epochs"}), "--max_epochs has no value; expected --max_epochs=...");
  EXPECT_EQ(Message({"--format=csv"}), "--format=csv: expected tsv or json: how rows are written");
  EXPECT_EQ(Message({"--shuffle=perhaps"}),
            "--shuffle=perhaps: expected true or false; it is: Another order in each epoch");
  EXPECT_EQ(Message({"--shuffle", "False"}),
            "--shuffle False: a switch has its value behind =; expected --shuffle=false");
}

TEST(CheckArgumentsTest, AFlagIsNoValue) {
  FLAGS_format = "tsv";
  EXPECT_EQ(Message({"--format", "--max_epochs=5", "in"}),
            "--format has no value, for --max_epochs=5 is a flag; expected --format=...");
  EXPECT_EQ(Message({"--max-epochs", "--noshuffle"}),
            "--max_epochs has no value, for --noshuffle is a flag; expected --max_epochs=...");
  EXPECT_EQ(FLAGS_format, "tsv");
}

TEST(CheckArgumentsTest, SimilarNames) {
  EXPECT_THAT(SimilarNames("cutoff", Names()), ElementsAre("rad_cutoff"));
  EXPECT_THAT(SimilarNames("fromat", Names()), ElementsAre("format"));
  EXPECT_THAT(SimilarNames("max_epoch", Names()), ElementsAre("max_epochs", "min_epochs"));
  EXPECT_THAT(SimilarNames("lr", Names()), IsEmpty());
  EXPECT_THAT(SimilarNames("", Names()), IsEmpty());
}

}  // namespace
}  // namespace rutile
