#include "lib/kge/model/loose_names.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

enum class Draw { kOneOfN, kAllAtOnce };

constexpr absl::string_view kDrawWords[] = {"1-of-N", "all-at-once"};
constexpr LooseEnumNames<Draw> kDrawNames("no draw", kDrawWords, "everything", Draw::kAllAtOnce);
constexpr LooseEnumNames<Draw> kWithoutAlias("no draw", kDrawWords);

TEST(LooseEnumNamesTest, CaseAndDashesDoNotMatter) {
  for (const char* name : {"1-of-N", "1-OF-n", "1ofn", "1_of_n", "-1ofn-"}) {
    EXPECT_EQ(kDrawNames.Parse(name).value(), Draw::kOneOfN) << name;
  }
  EXPECT_EQ(kDrawNames.Parse("AllAtOnce").value(), Draw::kAllAtOnce);
  EXPECT_EQ(kDrawNames.Name(Draw::kAllAtOnce), "all-at-once") << "a name is written in one way";
}

TEST(LooseEnumNamesTest, AnAliasIsReadAndNotListed) {
  EXPECT_EQ(kDrawNames.Parse("Every-Thing").value(), Draw::kAllAtOnce);
  EXPECT_THAT(kDrawNames.names(), ::testing::ElementsAre("1-of-N", "all-at-once"));
  EXPECT_FALSE(kWithoutAlias.Parse("everything").ok());
}

TEST(LooseEnumNamesTest, UnknownNamesAreToldTheChoices) {
  for (const char* name : {"two", "", "-"}) {
    for (const auto* names : {&kDrawNames, &kWithoutAlias}) {
      EXPECT_THAT(names->Parse(name).status(),
                  ErrorNames(absl::StatusCode::kInvalidArgument,
                             {"no draw", absl::StrCat("\"", name, "\""), "1-of-N, all-at-once"}))
          << name;
    }
  }
}

}  // namespace
}  // namespace rutile
