#include "tools/common/run/flag_choice.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

enum class Answers { kNone, kKeep, kDrop };
constexpr absl::string_view kWords[] = {"", "keep", "drop"};
constexpr EnumNames<Answers> kNames("no answers are", kWords);

TEST(FlagChoiceTest, ReadsTheNames) {
  EXPECT_EQ(ParseFlagChoice("known", "", kNames).value(), Answers::kNone);
  EXPECT_EQ(ParseFlagChoice("known", "drop", kNames).value(), Answers::kDrop);
}

TEST(FlagChoiceTest, NamesTheFlagAndItsChoices) {
  for (const char* text : {"none", "Keep", "keep "}) {
    EXPECT_THAT(
        ParseFlagChoice("known", text, kNames).status(),
        ErrorNames(absl::StatusCode::kInvalidArgument, {std::string("--known=") + text, "nothing, keep or drop"}));
  }
}

}  // namespace
}  // namespace rutile
