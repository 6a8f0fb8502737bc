// Chooses the tests that count, their weights in a sum, and which training examples are listed for them.

#ifndef RUTILE_TOOLS_TRACIN_CHOSEN_TESTS_H_
#define RUTILE_TOOLS_TRACIN_CHOSEN_TESTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/influence/tracin_options.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Returns the numbers of the tests that --test_indices or --max_tests choose of `num_tests`. INVALID_ARGUMENT if one is
// not there.
absl::StatusOr<std::vector<int64_t>> ChooseTests(const TracinFlags& flags, int64_t num_tests);

// Returns the weights [num_tests] of the tests in their sum: those of --test_weights, or 1; 0 if a test does not count.
// INVALID_ARGUMENT naming the file if it has another number of weights, or a word that is no number.
absl::StatusOr<std::vector<double>> AggregateWeights(const TracinFlags& flags, const std::vector<int64_t>& tests,
                                                     int64_t num_tests);

// Returns the order of scores that lists what --rank asks for. asked: kHighest for proponents, kLowest for opponents.
// Proponents have the highest scores, or the lowest if sign_of_help (InfluenceDomain) is -1.
InfluenceRanking RankingOf(InfluenceRanking asked, int sign_of_help);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_CHOSEN_TESTS_H_
