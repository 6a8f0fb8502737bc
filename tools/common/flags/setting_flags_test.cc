#include "tools/common/flags/setting_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"

namespace rutile {
namespace {

enum class Tone { kSine, kSquare };

constexpr absl::string_view kToneWords[] = {"sine", "square"};
constexpr EnumNames<Tone> kToneNames("no tone", kToneWords);

struct SoundOptions {
  Tone tone = Tone::kSine;
  double loudness = 0.98;
  int64_t beats = 4;
  bool stereo = true;
  std::string title = "untitled";
  double duty = 0.5;
  double balance = 0;
  double rate = 44100;
  int64_t samples = 7;
  double pan = 0;
};

absl::Span<const Setting<SoundOptions>> SoundSettings() {
  using O = SoundOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::tone, &kToneNames>("tone", "Form of the wave: sine or square."),
      Setting<O>("loudness", &O::loudness, "How loud it is.").In(AtLeast(0).AtMost(1)),
      Setting<O>("beats", &O::beats, "Beats of a bar."),
      Setting<O>("stereo", &O::stereo, "Two channels."),
      Setting<O>("title", &O::title, "Its name."),
      Setting<O>("duty", &O::duty, "Share that is high (square).")
          .Needs("tone", [](const O& o) { return o.tone == Tone::kSquare; }),
      Setting<O>("balance", &O::balance, "Left or right.")
          .NeedsOneOf("stereo,title", [](const O& o) { return o.stereo || o.title.empty(); }),
      Setting<O>("rate", &O::rate, "Samples of a second. -1: what the device has.").Automatic("-1"),
      Setting<O>("pan", &O::pan, "Where a single channel comes from.")
          .Needs("stereo", [](const O& o) { return !o.stereo; })
          .Needs("loudness", [](const O& o) { return o.loudness == 0; }),
      Setting<O>("samples", &O::samples, "How many there are.").Derived("it follows from beats"),
  };
  return kSettings;
}

const SettingFlags<SoundOptions>& Flags() {
  static const auto* flags = new SettingFlags<SoundOptions>(SoundSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

using Given = std::vector<std::pair<const char*, const char*>>;

// The options as if these flags had been given, and no others.
absl::Status Parse(const Given& given, SoundOptions* options) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : given) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  absl::Status status = Flags().CopyTo(options);
  status.Update(Flags().RefuseUnused(*options));
  return status;
}

std::string Message(const Given& given) {
  SoundOptions options;
  return std::string(Parse(given, &options).message());
}

gflags::CommandLineFlagInfo Info(const char* name) { return gflags::GetCommandLineFlagInfoOrDie(name); }

TEST(SettingFlagsTest, AFlagIsAsItsRowSays) {
  ASSERT_TRUE(registered);
  EXPECT_EQ(Info("loudness").type, "double");
  EXPECT_EQ(Info("loudness").description, "How loud it is.");
  EXPECT_EQ(Info("beats").type, "int64");
  EXPECT_EQ(Info("beats").default_value, "4");
  EXPECT_EQ(Info("stereo").type, "bool");
  EXPECT_EQ(Info("stereo").default_value, "true");
  EXPECT_EQ(Info("title").type, "string");
  EXPECT_EQ(Info("title").default_value, "untitled");
  EXPECT_EQ(Info("tone").type, "string");
  EXPECT_EQ(Info("tone").default_value, "sine");
  EXPECT_EQ(Info("rate").default_value, "-1") << "the value that leaves it open";
  EXPECT_THAT(Info("tone").filename, ::testing::HasSubstr("setting_flags_test.cc")) << "where --help looks";
  EXPECT_TRUE(Info("tone").is_default);
}

TEST(SettingFlagsTest, WhatFollowsFromOthersIsNoFlag) {
  gflags::CommandLineFlagInfo info;
  EXPECT_FALSE(gflags::GetCommandLineFlagInfo("samples", &info));
  EXPECT_THAT(Flags().names(),
              ::testing::ElementsAre("tone", "loudness", "beats", "stereo", "title", "duty", "balance", "rate", "pan"));
}

TEST(SettingFlagsTest, DefaultsReadAsAPersonWritesThem) {
  EXPECT_EQ(FlagText(Info("loudness").type, Info("loudness").default_value), "0.98");
  EXPECT_EQ(FlagText("double", "9.9999999999999995e-07"), "1e-6");
  EXPECT_EQ(FlagText("double", "nan"), "nan");
  EXPECT_EQ(FlagText("string", "0.97999999999999998"), "0.97999999999999998");
  EXPECT_EQ(FlagText("int64", "100"), "100");
}

TEST(SettingFlagsTest, ValuesReachTheOptions) {
  SoundOptions options;
  options.rate = 8000;
  EXPECT_EQ(Parse({}, &options), absl::OkStatus());
  EXPECT_EQ(options.loudness, 0.98) << "to the last bit";
  EXPECT_EQ(options.rate, 8000) << "left open, so that it stays";
  EXPECT_EQ(Parse({{"tone", "square"},
                   {"loudness", "0.1"},
                   {"beats", "3"},
                   {"stereo", "false"},
                   {"title", ""},
                   {"duty", "0.25"},
                   {"balance", "-1"},
                   {"rate", "96000"}},
                  &options),
            absl::OkStatus());
  EXPECT_EQ(options.tone, Tone::kSquare);
  EXPECT_EQ(options.loudness, 0.1);
  EXPECT_EQ(options.beats, 3);
  EXPECT_FALSE(options.stereo);
  EXPECT_EQ(options.title, "");
  EXPECT_EQ(options.duty, 0.25);
  EXPECT_EQ(options.balance, -1);
  EXPECT_EQ(options.rate, 96000);
  EXPECT_EQ(options.samples, 7);
}

TEST(SettingFlagsTest, OneValueAlone) {
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("tone", "square");
  gflags::SetCommandLineOption("beats", "9");
  SoundOptions options;
  EXPECT_EQ(Flags().CopyTo("tone", &options), absl::OkStatus());
  EXPECT_EQ(options.tone, Tone::kSquare);
  EXPECT_EQ(options.beats, 4);
}

TEST(SettingFlagsTest, RefusesWhatHasNoEffect) {
  EXPECT_EQ(Message({{"duty", "0.5"}}), "--duty has no effect with --tone=sine: leave it out");
  EXPECT_EQ(Message({{"duty", "0.5"}, {"tone", "square"}}), "");
  EXPECT_EQ(Message({{"balance", "1"}, {"stereo", "false"}}),
            "--balance has no effect without --stereo or --title: leave it out");
  EXPECT_EQ(Message({{"balance", "1"}}), "");
}

TEST(SettingFlagsTest, NamesTheSettingThatDecides) {
  EXPECT_EQ(Message({{"pan", "1"}}), "--pan has no effect with --stereo: leave it out");
  EXPECT_EQ(Message({{"pan", "1"}, {"stereo", "false"}}), "--pan has no effect with --loudness=0.98: leave it out");
  EXPECT_EQ(Message({{"pan", "1"}, {"stereo", "false"}, {"loudness", "0"}}), "");
}

TEST(SettingFlagsTest, RefusesAllOfATable) {
  EXPECT_EQ(Flags().RefuseAll("on paper"), absl::OkStatus());
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("beats", "9");
  const absl::Status status = Flags().RefuseAll("on paper");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "--beats has no effect on paper: leave it out");
}

TEST(SettingFlagsTest, NamesTheFlagOfABadValue) {
  EXPECT_EQ(Message({{"tone", "saw"}}), "--tone=saw: no tone \"saw\"; the choices are sine, square");
}

TEST(SettingFlagsDeathTest, ANameThatIsNotInTheTable) {
  SoundOptions options;
  EXPECT_DEATH(Flags().CopyTo("pitch", &options).IgnoreError(), "no setting pitch");
}

}  // namespace
}  // namespace rutile
