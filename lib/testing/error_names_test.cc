#include "lib/testing/error_names.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Not;

const absl::Status kAlpha =
    absl::InvalidArgumentError("run.xyz:17: --alpha=1.5 has no effect with --optimizer=adam: leave it out");

TEST(NamesFactTest, FindsAWholeWordWhereverItStands) {
  for (const absl::string_view message :
       {"atom 2", "2 atoms", "of 2: none", "(2)", "2", "atom 2.", "ranges 2-3", "1-2"}) {
    EXPECT_TRUE(NamesFact(message, "2")) << message;
  }
  EXPECT_TRUE(NamesFact("H2O, then H", "H"));
  EXPECT_TRUE(NamesFact("--alpha_2 and --alpha=3", "--alpha"));
}

TEST(NamesFactTest, APartOfAWordIsNoFact) {
  EXPECT_FALSE(NamesFact("--alpha_2", "--alpha"));
  EXPECT_FALSE(NamesFact("a.xyz:71", "a.xyz:7"));
  EXPECT_FALSE(NamesFact("data.xyz", "a.xyz"));
  EXPECT_FALSE(NamesFact("H2O", "H"));
  EXPECT_FALSE(NamesFact("", "H"));
}

TEST(NamesFactTest, ANumberIsTakenWithItsSignAndFraction) {
  for (const absl::string_view message : {"-2", "1.2", "2.5", "20", "12", "x2", "2e5"}) {
    EXPECT_FALSE(NamesFact(message, "2")) << message;
  }
  EXPECT_TRUE(NamesFact("is -2.5e-3, expected", "-2.5e-3"));
}

TEST(NamesFactTest, PunctuationNeedsNoBoundary) {
  EXPECT_TRUE(NamesFact("tensor \"x\": is", "\"x\""));
  EXPECT_TRUE(NamesFact("x/y.safetensors", "/y.safetensors"));
}

TEST(NamesFactTest, CaseDiffers) { EXPECT_FALSE(NamesFact("Ti", "ti")); }

TEST(NamesFactDeathTest, AnEmptyFactIsABug) { EXPECT_DEATH(NamesFact("x", ""), "empty"); }

TEST(ErrorNamesTest, MatchesAStatusWithAllFactsInAnyOrder) {
  EXPECT_THAT(kAlpha, ErrorNames({"--alpha", "1.5"}));
  EXPECT_THAT(kAlpha, ErrorNames({"adam", "--optimizer", "run.xyz:17"}));
  EXPECT_THAT(kAlpha, ErrorNames(absl::StatusCode::kInvalidArgument, {"--alpha"}));
}

TEST(ErrorNamesTest, AMissingFactDoesNotMatch) {
  EXPECT_THAT(kAlpha, Not(ErrorNames({"--alpha", "rmsprop"})));
  EXPECT_THAT(kAlpha, Not(ErrorNames({"1"})));
}

TEST(ErrorNamesTest, AnotherCodeDoesNotMatch) {
  EXPECT_THAT(kAlpha, Not(ErrorNames(absl::StatusCode::kNotFound, {"--alpha"})));
}

TEST(ErrorNamesTest, OkDoesNotMatch) {
  EXPECT_THAT(absl::OkStatus(), Not(ErrorNames({})));
  EXPECT_THAT(absl::StatusOr<int>(2), Not(ErrorNames({})));
}

TEST(ErrorNamesTest, MatchesStatusOr) {
  EXPECT_THAT(absl::StatusOr<int>(kAlpha), ErrorNames(absl::StatusCode::kInvalidArgument, {"--alpha"}));
  EXPECT_THAT(absl::StatusOr<std::string>(kAlpha), Not(ErrorNames({"--beta"})));
}

TEST(ErrorNamesTest, MatchesText) {
  EXPECT_THAT(std::string("a: is 2"), ErrorNames({"2"}));
  EXPECT_THAT(kAlpha.message(), ErrorNames({"--alpha"}));
  EXPECT_THAT("a: is 2", Not(ErrorNames({"3"})));
}

std::string Explain(const ::testing::Matcher<absl::Status>& matcher, const absl::Status& status) {
  ::testing::StringMatchResultListener listener;
  matcher.MatchAndExplain(status, &listener);
  return listener.str();
}

TEST(ErrorNamesTest, AFailurePrintsTheMessageAndWhatIsMissing) {
  const absl::Status status = absl::NotFoundError("a: is 2");
  EXPECT_EQ(Explain(ErrorNames({"a", "3", "b"}), status),
            "whose message is \"a: is 2\", which does not name \"3\", \"b\"");
  EXPECT_EQ(Explain(ErrorNames(absl::StatusCode::kInternal, {"3"}), status),
            "whose code is NOT_FOUND, whose message is \"a: is 2\", which does not name \"3\"");
  EXPECT_EQ(Explain(ErrorNames({"3"}), absl::OkStatus()), "which is OK");
}

TEST(ErrorNamesTest, DescribesWhatItExpects) {
  EXPECT_EQ(::testing::DescribeMatcher<absl::Status>(ErrorNames(absl::StatusCode::kInternal, {"a", "3"})),
            "is the error INTERNAL that names \"a\", \"3\"");
  EXPECT_EQ(::testing::DescribeMatcher<std::string>(Not(ErrorNames({"a"}))), "is not an error that names \"a\"");
}

TEST(ErrorNamesDeathTest, ATextHasNoCode) {
  EXPECT_DEATH(EXPECT_THAT("a", ErrorNames(absl::StatusCode::kInternal, {"a"})), "a text has no status code");
}

}  // namespace
}  // namespace rutile
