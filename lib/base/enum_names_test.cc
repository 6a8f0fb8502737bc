#include "lib/base/enum_names.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

enum class Color { kRed, kGreen, kBlue };

constexpr absl::string_view kColorWords[] = {"red", "green", "blue"};
constexpr EnumNames<Color> kColorNames("no color", kColorWords);

TEST(EnumNamesTest, NamesAndValuesAreInverse) {
  EXPECT_EQ(kColorNames.Name(Color::kRed), "red");
  EXPECT_EQ(kColorNames.Name(Color::kBlue), "blue");
  for (const Color color : {Color::kRed, Color::kGreen, Color::kBlue}) {
    EXPECT_EQ(kColorNames.Parse(kColorNames.Name(color)).value(), color);
  }
  EXPECT_THAT(kColorNames.names(), ::testing::ElementsAre("red", "green", "blue"));
}

TEST(EnumNamesTest, UnknownNamesAreToldTheChoices) {
  for (const char* name : {"yellow", "", "Red", "red "}) {
    const absl::Status status = kColorNames.Parse(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), std::string("no color \"") + name + "\"; the choices are red, green, blue");
  }
}

TEST(EnumNamesDeathTest, AValueWithoutANameIsOurBug) {
  EXPECT_DEATH(kColorNames.Name(static_cast<Color>(3)), "no color 3");
}

}  // namespace
}  // namespace rutile
