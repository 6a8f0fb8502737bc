#include "lib/base/settings.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

enum class Shape { kRound, kSquare };

constexpr absl::string_view kShapeWords[] = {"round", "square"};
constexpr EnumNames<Shape> kShapeNames("no shape", kShapeWords);

struct BoxOptions {
  double width = 0.98;
  int64_t count = 3;
  bool open = false;
  std::string label = "a";
  Shape shape = Shape::kRound;
  double corner = 0.25;
  int year = 2000;  // as text: "y2000"
  int floor = -1;
  uint64_t serial = 7;
};

SettingValue GetYear(const BoxOptions& options) { return absl::StrCat("y", options.year); }

absl::Status SetYear(absl::string_view text, BoxOptions* options) {
  if (text != "y2001") return absl::InvalidArgumentError(absl::StrCat("no year ", text));
  options->year = 2001;
  return absl::OkStatus();
}

constexpr OldName::Value kOldLids[] = {{"1", "true"}, {"0", "false"}};

absl::Span<const Setting<BoxOptions>> BoxSettings() {
  using O = BoxOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>("width", &O::width, "How wide it is.").In(Above(0).AtMost(10)).Automatic("0"),
      Setting<O>("count", &O::count, "How many there are.").In(AtLeast(1)).Resetting(RunPart::kEpoch),
      Setting<O>("open", &O::open, "It has no lid.").Once("lid", kOldLids).MayChange(),
      Setting<O>("label", &O::label, "What is written on it.")
          .NeedsOneOf("open,count", [](const O& options) { return options.open || options.count > 1; }),
      Setting<O>::Choice<&O::shape, &kShapeNames>("shape", "Its form."),
      Setting<O>("corner", &O::corner, "How sharp it is.")
          .Needs("shape", [](const O& options) { return options.shape == Shape::kSquare; })
          .RecordedIf([](const O& options) { return options.corner != 0.25; })
          .ResettingIfItComesOrGoes(RunPart::kEma),
      Setting<O>("floor", &O::floor, "Where it stands.")
          .Needs("open", [](const O& options) { return options.open; })
          .Needs("count", [](const O& options) { return options.count > 0; })
          .RecordedAs([](const O& options) { return SettingValue(options.floor + 0.5); })
          .NotCompared(),
      Setting<O>("serial", &O::serial, "Its number.").Once("number").OnceWith("patent", "label", "new"),
      Setting<O>::Text("year", GetYear, SetYear, "When it was made.").Derived("it follows from count"),
  };
  return kSettings;
}

const Setting<BoxOptions>& Row(absl::string_view name) { return *FindSetting(BoxSettings(), name); }

std::string SetMessage(absl::string_view name, absl::string_view text) {
  BoxOptions options;
  return std::string(Row(name).Set(text, &options).message());
}

TEST(RangeTest, ContainsItsClosedEnds) {
  const Range closed = AtLeast(0).AtMost(1), open = Above(0).Below(1);
  for (const double end : {0.0, 1.0}) {
    EXPECT_TRUE(closed.Contains(end));
    EXPECT_FALSE(open.Contains(end));
  }
  EXPECT_TRUE(open.Contains(0.5));
  EXPECT_FALSE(closed.Contains(1.5));
  EXPECT_FALSE(closed.Contains(-1));
  EXPECT_TRUE(AtLeast(1).Contains(1e300));
  EXPECT_FALSE(AtLeast(1).Contains(0));
}

TEST(RangeTest, OnlyTheRangeOfEverythingHoldsWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::nan("")}) {
    EXPECT_TRUE(Range().Contains(value));
    EXPECT_FALSE(AtLeast(0).Contains(value));
    EXPECT_FALSE(Above(0).Below(1).Contains(value));
  }
}

TEST(RangeTest, MayHoldOneMoreNumber) {
  const Range limit = AtLeast(1).Or(-1, "no limit");
  EXPECT_TRUE(limit.Contains(-1));
  EXPECT_TRUE(limit.Contains(1));
  EXPECT_FALSE(limit.Contains(0));
  EXPECT_FALSE(limit.Contains(-2));
  EXPECT_EQ(limit.Words("x"), "1 or more, or -1 for no limit");
}

TEST(RangeTest, Words) {
  EXPECT_EQ(Range().Words("x"), "a number");
  EXPECT_EQ(AtLeast(0).Words("x"), "0 or more");
  EXPECT_EQ(Above(0).Words("x"), "a number above 0");
  EXPECT_EQ(AtLeast(0).AtMost(1).Words("x"), "0 to 1");
  EXPECT_EQ(AtLeast(0).Below(1).Words("x"), "0 <= x < 1");
  EXPECT_EQ(Above(0).AtMost(0.1).Words("x"), "0 < x <= 0.1");
  EXPECT_EQ(Above(-1).Below(1).Words("x"), "-1 < x < 1");
}

TEST(SettingTest, ReadsEachTypeOfMember) {
  const BoxOptions options;
  EXPECT_EQ(std::get<double>(Row("width").Get(options)), 0.98);
  EXPECT_EQ(std::get<int64_t>(Row("count").Get(options)), 3);
  EXPECT_FALSE(std::get<bool>(Row("open").Get(options)));
  EXPECT_EQ(SettingText(Row("width").Get(options)), "0.98");
  EXPECT_EQ(SettingText(Row("count").Get(options)), "3");
  EXPECT_EQ(SettingText(Row("open").Get(options)), "false");
  EXPECT_EQ(SettingText(Row("label").Get(options)), "a");
  EXPECT_EQ(SettingText(Row("shape").Get(options)), "round");
  EXPECT_EQ(SettingText(Row("year").Get(options)), "y2000");
  EXPECT_EQ(std::get<int64_t>(Row("floor").Get(options)), -1);
  EXPECT_EQ(std::get<uint64_t>(Row("serial").Get(options)), 7u);
}

TEST(SettingTest, SetsEachTypeOfMember) {
  BoxOptions options;
  for (const auto& [name, text] : {std::pair("width", "2.5"), std::pair("count", "-7"), std::pair("open", "true"),
                                   std::pair("label", "b, c"), std::pair("shape", "square"), std::pair("year", "y2001"),
                                   std::pair("floor", "-2"), std::pair("serial", "18446744073709551615")}) {
    EXPECT_EQ(Row(name).Set(text, &options), absl::OkStatus()) << name;
    EXPECT_EQ(SettingText(Row(name).Get(options)), text);
  }
  EXPECT_EQ(options.width, 2.5);
  EXPECT_EQ(options.count, -7);
  EXPECT_TRUE(options.open);
  EXPECT_EQ(options.label, "b, c");
  EXPECT_EQ(options.shape, Shape::kSquare);
  EXPECT_EQ(options.year, 2001);
  EXPECT_EQ(options.floor, -2);
  EXPECT_EQ(options.serial, std::numeric_limits<uint64_t>::max());
}

TEST(SettingTest, RefusesTextOfAnotherType) {
  EXPECT_EQ(SetMessage("width", "wide"), "width=wide is no number");
  EXPECT_EQ(SetMessage("count", "1.5"), "count=1.5 is no whole number");
  EXPECT_EQ(SetMessage("open", "maybe"), "open=maybe, expected true or false");
  EXPECT_EQ(SetMessage("shape", "oval"), "no shape \"oval\"; the choices are round, square");
  EXPECT_EQ(SetMessage("year", "1"), "no year 1");
  EXPECT_EQ(SetMessage("floor", "3000000000"), "floor is 3000000000, expected -2147483648 to 2147483647");
  EXPECT_EQ(SetMessage("serial", "-1"), "serial=-1 is no whole number from 0 on");
  BoxOptions options;
  EXPECT_FALSE(Row("width").Set("", &options).ok());
  EXPECT_EQ(options.width, 0.98) << "what is refused changes nothing";
}

TEST(SettingTest, ChecksRanges) {
  BoxOptions options;
  EXPECT_EQ(CheckRanges(BoxSettings(), options), absl::OkStatus());
  options.count = 0;
  EXPECT_EQ(CheckRanges(BoxSettings(), options).message(), "count is 0, expected 1 or more");
  options.width = std::nan("");
  const absl::Status status = CheckRanges(BoxSettings(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "width is nan, expected 0 < width <= 10") << "the first of the table";
}

TEST(SettingTest, HasAnEffectAndIsRecordedWhereItsRowSays) {
  BoxOptions options;
  EXPECT_TRUE(Row("width").HasEffect(options));
  EXPECT_TRUE(Row("width").IsRecorded(options));
  EXPECT_TRUE(Row("label").HasEffect(options));
  EXPECT_FALSE(Row("label").needs[0].by_value);
  options.count = 1;
  EXPECT_FALSE(Row("label").HasEffect(options));
  EXPECT_FALSE(Row("label").IsRecorded(options));
  EXPECT_FALSE(Row("corner").HasEffect(options));
  EXPECT_TRUE(Row("corner").needs[0].by_value);
  options.shape = Shape::kSquare;
  EXPECT_TRUE(Row("corner").HasEffect(options));
  EXPECT_FALSE(Row("corner").IsRecorded(options));
  options.corner = 1;
  EXPECT_TRUE(Row("corner").IsRecorded(options));
}

TEST(SettingTest, NamesTheFirstNeedThatIsNotMet) {
  BoxOptions options;
  EXPECT_EQ(Row("width").Unmet(options), nullptr);
  options.count = 0;
  EXPECT_STREQ(Row("floor").Unmet(options)->names, "open");
  options.open = true;
  EXPECT_STREQ(Row("floor").Unmet(options)->names, "count");
  options.count = 1;
  EXPECT_EQ(Row("floor").Unmet(options), nullptr);
}

TEST(SettingTest, IsRecordedAsItsRowSays) {
  const BoxOptions options;
  EXPECT_EQ(std::get<double>(Row("floor").Record(options)), -0.5);
  EXPECT_EQ(Row("count").Record(options), Row("count").Get(options));
}

TEST(SettingTest, SaysWhatResumingDemands) {
  EXPECT_EQ(Row("width").on_resume, OnResume::kMustMatch);
  EXPECT_EQ(Row("open").on_resume, OnResume::kMayChange);
  EXPECT_EQ(Row("floor").on_resume, OnResume::kNotCompared);
  EXPECT_TRUE(Row("count").Resets(RunPart::kEpoch));
  EXPECT_FALSE(Row("count").Resets(RunPart::kEma));
  EXPECT_FALSE(Row("count").resets_if_it_comes_or_goes);
  EXPECT_TRUE(Row("corner").Resets(RunPart::kEma));
  EXPECT_TRUE(Row("corner").resets_if_it_comes_or_goes);
}

TEST(SettingTest, KeepsWhatElseARowSays) {
  EXPECT_STREQ(Row("width").help, "How wide it is.");
  EXPECT_STREQ(Row("width").automatic, "0");
  EXPECT_EQ(Row("count").automatic, nullptr);
  EXPECT_STREQ(Row("open").old_names[0].name, "lid");
  EXPECT_STREQ(Row("open").old_names[0].values[0].now, "true");
  EXPECT_EQ(Row("open").old_names[1].name, nullptr);
  EXPECT_EQ(Row("count").old_names[0].name, nullptr);
  EXPECT_EQ(Row("serial").old_names[0].also, nullptr);
  EXPECT_STREQ(Row("serial").old_names[1].name, "patent");
  EXPECT_STREQ(Row("serial").old_names[1].also, "label");
  EXPECT_STREQ(Row("serial").old_names[1].also_value, "new");
  EXPECT_STREQ(Row("year").derived, "it follows from count");
  EXPECT_THAT(Row("shape").Choices(), ::testing::ElementsAre("round", "square"));
  EXPECT_TRUE(Row("label").Choices().empty());
  EXPECT_EQ(FindSetting(BoxSettings(), "height"), nullptr);
}

TEST(SettingTest, ComparesAllSettings) {
  BoxOptions a, b;
  EXPECT_TRUE(SameSettings(BoxSettings(), a, b));
  b.shape = Shape::kSquare;
  EXPECT_FALSE(SameSettings(BoxSettings(), a, b));
  b = a;
  b.count = 4;
  EXPECT_FALSE(SameSettings(BoxSettings(), a, b));
}

}  // namespace
}  // namespace rutile
