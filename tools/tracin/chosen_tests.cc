#include "tools/tracin/chosen_tests.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// Reads numbers from a text file: white space separates them, and # starts a comment up to the end of the line.
absl::StatusOr<std::vector<double>> ReadNumbers(const std::string& path) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  std::vector<double> numbers;
  for (absl::string_view line; lines.Next(&line);) {
    line = line.substr(0, line.find('#'));
    for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      double number = 0;
      if (!absl::SimpleAtod(word, &number)) {
        return absl::InvalidArgumentError(
            absl::StrCat(lines.path(), ":", lines.line_number(), ": \"", word, "\" is no number"));
      }
      numbers.push_back(number);
    }
  }
  RETURN_IF_ERROR(lines.status());
  return numbers;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ChooseTests(const TracinFlags& flags, int64_t num_tests) {
  if (!flags.has_tests()) return std::vector<int64_t>();
  std::vector<int64_t> tests = flags.test_indices;
  for (const int64_t test : tests) {
    if (test < num_tests) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--test_indices: ", test, ": there are ", num_tests, " tests, counted from 0"));
  }
  if (flags.mode == TracinMode::kSingle) return tests;
  if (flags.max_tests > num_tests && FlagGiven("max_tests")) {
    PrintMessage(absl::StrCat("--max_tests=", flags.max_tests, ": there are ", num_tests));
  }
  const int64_t count = flags.max_tests == 0 ? num_tests : std::min(num_tests, flags.max_tests);
  for (int64_t test = 0; test < count; ++test) tests.push_back(test);
  return tests;
}

absl::StatusOr<std::vector<double>> AggregateWeights(const TracinFlags& flags, const std::vector<int64_t>& tests,
                                                     int64_t num_tests) {
  std::vector<double> weights(num_tests, 0.0);
  std::vector<double> given(tests.size(), 1.0);
  if (!flags.test_weights.empty()) {
    ASSIGN_OR_RETURN(given, ReadNumbers(flags.test_weights));
    if (given.size() != tests.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.test_weights, ": ", given.size(), " numbers for ", tests.size(), " tests"));
    }
  }
  for (size_t t = 0; t < tests.size(); ++t) weights[tests[t]] = given[t];
  return weights;
}

InfluenceRanking RankingOf(InfluenceRanking asked, int sign_of_help) {
  if (sign_of_help >= 0) return asked;
  if (asked == InfluenceRanking::kHighest) return InfluenceRanking::kLowest;
  if (asked == InfluenceRanking::kLowest) return InfluenceRanking::kHighest;
  return asked;
}

}  // namespace rutile
