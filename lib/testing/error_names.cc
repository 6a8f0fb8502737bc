#include "lib/testing/error_names.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// True where a word or number that begins at `begin` would have begun before it.
bool ContinuesWord(absl::string_view message, size_t begin) {
  const auto at = [&](size_t back) { return back <= begin ? message[begin - back] : ' '; };
  if (!IsWord(message[begin])) return false;
  if (IsWord(at(1))) return true;
  if (!absl::ascii_isdigit(message[begin])) return false;
  // The sign or the integer part of a number. A dash between two numbers, "3-5", is no sign.
  return (at(1) == '-' && !IsWord(at(2))) || (at(1) == '.' && absl::ascii_isdigit(at(2)));
}

// True where a word or number that ends before `end` goes on.
bool WordContinues(absl::string_view message, size_t end) {
  const auto at = [&](size_t i) { return i < message.size() ? message[i] : ' '; };
  if (!IsWord(message[end - 1])) return false;
  if (IsWord(at(end))) return true;
  return absl::ascii_isdigit(message[end - 1]) && at(end) == '.' && absl::ascii_isdigit(at(end + 1));
}

std::string Quoted(const std::vector<std::string>& facts) {
  return absl::StrJoin(facts, ", ",
                       [](std::string* out, const std::string& fact) { absl::StrAppend(out, "\"", fact, "\""); });
}

}  // namespace

bool NamesFact(absl::string_view message, absl::string_view fact) {
  CHECK(!fact.empty());
  for (size_t begin = message.find(fact); begin != message.npos; begin = message.find(fact, begin + 1)) {
    if (!ContinuesWord(message, begin) && !WordContinues(message, begin + fact.size())) return true;
  }
  return false;
}

ErrorFacts::ErrorFacts(std::optional<absl::StatusCode> code, std::vector<std::string> facts)
    : code_(code), facts_(std::move(facts)) {
  CHECK(code_ != absl::StatusCode::kOk);
}

bool ErrorFacts::MatchAndExplain(const absl::Status& status, ::testing::MatchResultListener* listener) const {
  if (status.ok()) {
    *listener << "which is OK";
    return false;
  }
  // Both are said when both are wrong.
  const bool has_code = !code_.has_value() || status.code() == *code_;
  if (!has_code) *listener << "whose code is " << absl::StatusCodeToString(status.code()) << ", ";
  return NamesAll(status.message(), listener) && has_code;
}

bool ErrorFacts::MatchAndExplain(absl::string_view message, ::testing::MatchResultListener* listener) const {
  CHECK(!code_.has_value()) << "a text has no status code";
  return NamesAll(message, listener);
}

void ErrorFacts::DescribeTo(std::ostream* out) const {
  *out << "is " << (code_.has_value() ? absl::StrCat("the error ", absl::StatusCodeToString(*code_)) : "an error")
       << " that names " << Quoted(facts_);
}

void ErrorFacts::DescribeNegationTo(std::ostream* out) const {
  *out << "is not " << (code_.has_value() ? absl::StrCat("the error ", absl::StatusCodeToString(*code_)) : "an error")
       << " that names " << Quoted(facts_);
}

bool ErrorFacts::NamesAll(absl::string_view message, ::testing::MatchResultListener* listener) const {
  std::vector<std::string> missing;
  for (const std::string& fact : facts_) {
    if (!NamesFact(message, fact)) missing.push_back(fact);
  }
  *listener << "whose message is \"" << std::string(message) << "\"";
  if (!missing.empty()) *listener << ", which does not name " << Quoted(missing);
  return missing.empty();
}

::testing::PolymorphicMatcher<ErrorFacts> ErrorNames(absl::StatusCode code, std::vector<std::string> facts) {
  return ::testing::MakePolymorphicMatcher(ErrorFacts(code, std::move(facts)));
}

::testing::PolymorphicMatcher<ErrorFacts> ErrorNames(std::vector<std::string> facts) {
  return ::testing::MakePolymorphicMatcher(ErrorFacts(std::nullopt, std::move(facts)));
}

}  // namespace rutile
