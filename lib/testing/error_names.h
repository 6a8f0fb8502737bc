#ifndef RUTILE_LIB_TESTING_ERROR_NAMES_H_
#define RUTILE_LIB_TESTING_ERROR_NAMES_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"

// A matcher for error messages that looks for facts and leaves the wording free.
//
// A message should tell the user where the fault is, what was found and what to do. Those are facts: a path, a line, a
// flag, a value, the name of a tensor. A test that compares whole sentences breaks whenever somebody writes a better
// one, so tests ask for the facts alone:
//
//     EXPECT_THAT(ReadStructures(path), ErrorNames(absl::StatusCode::kInvalidArgument, {path + ":7", "atom 2", "Xx"}));
//
// When a fact is missing, the failure prints the message and says which.

namespace rutile {

// True where the message has the fact as a whole: "--alpha" is not found in "--alpha_2", 5 not in 15, 5.5 or -5, and
// "a.xyz:7" not in "a.xyz:71". Upper and lower case differ. CHECK-fails for an empty fact.
bool NamesFact(absl::string_view message, absl::string_view fact);

// What ErrorNames returns; googlemock calls it.
class ErrorFacts {
 public:
  ErrorFacts(std::optional<absl::StatusCode> code, std::vector<std::string> facts);

  // An OK status never matches.
  bool MatchAndExplain(const absl::Status& status, ::testing::MatchResultListener* listener) const;

  template <typename T>
  bool MatchAndExplain(const absl::StatusOr<T>& result, ::testing::MatchResultListener* listener) const {
    return MatchAndExplain(result.status(), listener);
  }

  // A message that was taken out of its status, or that a program printed. CHECK-fails if a code is expected.
  bool MatchAndExplain(absl::string_view message, ::testing::MatchResultListener* listener) const;

  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  bool NamesAll(absl::string_view message, ::testing::MatchResultListener* listener) const;

  std::optional<absl::StatusCode> code_;
  std::vector<std::string> facts_;
};

// Matches an absl::Status or absl::StatusOr with this code, whose message names each of the facts, in any order.
::testing::PolymorphicMatcher<ErrorFacts> ErrorNames(absl::StatusCode code, std::vector<std::string> facts);

// Matches an error with any code, or the text of a message, that names each of the facts, in any order.
::testing::PolymorphicMatcher<ErrorFacts> ErrorNames(std::vector<std::string> facts);

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_ERROR_NAMES_H_
