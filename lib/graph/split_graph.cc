#include "lib/graph/split_graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/graph/triple_weights.h"

namespace rutile {
namespace {

constexpr double kNoShare = 1e-9;  // above what rounding leaves of 1 - 0.8 - 0.2

enum Destination : uint8_t { kTrain, kValid, kTest };

// Returns how many triples each relation gives: its share rounded down or up, so that the sum is the share of all. What
// a relation of few triples cannot give, as one stays, those behind it in `order` give.
std::vector<int64_t> Quotas(const std::vector<int64_t>& counts, double fraction, const std::vector<int64_t>& order) {
  std::vector<int64_t> quotas(counts.size(), 0);
  double wanted = 0;
  int64_t given = 0;
  for (const int64_t r : order) {
    wanted += fraction * static_cast<double>(counts[r]);
    quotas[r] = std::min(static_cast<int64_t>(std::floor(wanted + 0.5)) - given, std::max<int64_t>(counts[r] - 1, 0));
    given += quotas[r];
  }
  return quotas;
}

}  // namespace

absl::Status CheckGraphSplitOptions(const GraphSplitOptions& options) {
  const double train = 1 - options.validation_fraction - options.test_fraction;
  if (options.validation_fraction >= 0 && options.test_fraction >= 0 && train > kNoShare) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--split: shares of ", train, " for training, ", options.validation_fraction, " for validation and ",
                   options.test_fraction, " for tests, expected none below 0, and more than 0 for training"));
}

absl::StatusOr<GraphSplitResult> SplitTraining(const GraphSplitOptions& options, KnowledgeGraph* graph) {
  RETURN_IF_ERROR(CheckGraphSplitOptions(options));
  std::vector<int64_t> relation_count(graph->relations.size(), 0), entity_count(graph->entities.size(), 0);
  // Triples of weight 0 stay in training as known answers. They are not learned, so they keep no name there.
  const auto is_learned = [&](int64_t row) { return WeightOf(graph->train_weights, row) > 0; };
  for (size_t i = 0; i < graph->train.size(); ++i) {
    if (!is_learned(static_cast<int64_t>(i))) continue;
    const Triple& triple = graph->train[i];
    ++relation_count[triple.relation];
    ++entity_count[triple.head];
    if (triple.tail != triple.head) ++entity_count[triple.tail];
  }
  // Sorted triples make the draw a function of the set of triples, not of their order.
  std::vector<int64_t> rows(graph->train.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  std::sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return graph->train[a] < graph->train[b]; });
  const std::vector<int64_t> drawn =
      RandomPermutation(static_cast<int64_t>(rows.size()), RandomStream(options.seed, "split of triples"));
  const std::vector<int64_t> order = RandomPermutation(static_cast<int64_t>(relation_count.size()),
                                                       RandomStream(options.seed, "split of triples, relations"));
  std::vector<int64_t> valid = Quotas(relation_count, options.validation_fraction, order);
  std::vector<int64_t> test = Quotas(relation_count, options.test_fraction, order);

  GraphSplitResult result;
  std::vector<Destination> destination(rows.size(), kTrain);
  for (const int64_t i : drawn) {
    const int64_t row = rows[i];
    const Triple& triple = graph->train[row];
    if (!is_learned(row)) continue;
    if (test[triple.relation] + valid[triple.relation] == 0) continue;
    if (relation_count[triple.relation] < 2 || entity_count[triple.head] < 2 || entity_count[triple.tail] < 2) continue;
    const bool is_test = test[triple.relation] > 0;
    --(is_test ? test : valid)[triple.relation];
    ++(is_test ? result.test : result.valid);
    destination[row] = is_test ? kTest : kValid;
    --relation_count[triple.relation];
    --entity_count[triple.head];
    if (triple.tail != triple.head) --entity_count[triple.tail];
  }
  for (const int64_t n : valid) result.valid_short += n;
  for (const int64_t n : test) result.test_short += n;
  for (const auto& [name, fraction, moved] : {std::make_tuple("validation", options.validation_fraction, result.valid),
                                              std::make_tuple("test", options.test_fraction, result.test)}) {
    if (fraction == 0 || moved > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--split: a share of ", fraction, " for ", name, ", but none of the ", rows.size(),
                     " triples can be moved, as each entity and relation stays in training; expected more triples or a "
                     "larger share"));
  }
  const std::vector<double> weights = std::move(graph->train_weights);
  graph->train_weights.clear();
  std::vector<Triple> train;
  train.reserve(rows.size() - result.valid - result.test);
  for (size_t row = 0; row < rows.size(); ++row) {
    const Triple& triple = graph->train[row];
    const Destination to = destination[row];
    (to == kTrain ? train : to == kValid ? graph->valid : graph->test).push_back(triple);
    if (weights.empty()) continue;
    (to == kTrain   ? graph->train_weights
     : to == kValid ? graph->valid_weights
                    : graph->test_weights)
        .push_back(weights[row]);
  }
  graph->train = std::move(train);
  return result;
}

}  // namespace rutile
