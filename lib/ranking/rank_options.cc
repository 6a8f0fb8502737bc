#include "lib/ranking/rank_options.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename E>
struct Named {
  E value;
  const char* name;
};

constexpr Named<GraphSplit> kSplits[] = {
    {GraphSplit::kTrain, "train"}, {GraphSplit::kValid, "valid"}, {GraphSplit::kTest, "test"}};
constexpr Named<RankingFilter> kFilters[] = {
    {RankingFilter::kTrain, "train"}, {RankingFilter::kTrainValid, "train+valid"}, {RankingFilter::kAll, "all"}};
constexpr Named<RankingDirection> kDirections[] = {
    {RankingDirection::kAuto, "auto"}, {RankingDirection::kTail, "tail"}, {RankingDirection::kBoth, "both"}};
constexpr Named<RankingConvention> kConventions[] = {{RankingConvention::kStandard, "standard"},
                                                     {RankingConvention::kTiepin, "tiepin"},
                                                     {RankingConvention::kOriginal, "original"}};

template <typename E, size_t N>
absl::string_view NameOf(E value, const Named<E> (&all)[N]) {
  for (const Named<E>& one : all) {
    if (one.value == value) return one.name;
  }
  LOG(FATAL) << "no such value";
}

template <typename E, size_t N>
absl::StatusOr<E> Parse(absl::string_view flag, absl::string_view name, const Named<E> (&all)[N]) {
  for (const Named<E>& one : all) {
    if (one.name == name) return one.value;
  }
  const auto append = [](std::string* out, const Named<E>& one) { out->append(one.name); };
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", name, ": expected ", absl::StrJoin(all, ", ", append)));
}

}  // namespace

absl::string_view GraphSplitName(GraphSplit split) { return NameOf(split, kSplits); }
absl::string_view RankingFilterName(RankingFilter filter) { return NameOf(filter, kFilters); }
absl::string_view RankingDirectionName(RankingDirection direction) { return NameOf(direction, kDirections); }
absl::string_view RankingConventionName(RankingConvention convention) { return NameOf(convention, kConventions); }
absl::StatusOr<GraphSplit> ParseGraphSplit(absl::string_view name) { return Parse("split", name, kSplits); }
absl::StatusOr<RankingFilter> ParseRankingFilter(absl::string_view name) { return Parse("filter", name, kFilters); }
absl::StatusOr<RankingDirection> ParseRankingDirection(absl::string_view name) {
  return Parse("direction", name, kDirections);
}
absl::StatusOr<RankingConvention> ParseRankingConvention(absl::string_view name) {
  return Parse("ranking_convention", name, kConventions);
}

absl::Span<const Triple> SplitTriples(const KnowledgeGraph& graph, GraphSplit split) {
  switch (split) {
    case GraphSplit::kTrain:
      return graph.train;
    case GraphSplit::kValid:
      return graph.valid;
    case GraphSplit::kTest:
      return graph.test;
  }
  LOG(FATAL) << "no such split";
}

std::vector<int64_t> RankShard(absl::Span<const Triple> triples, int shard, int num_shards) {
  CHECK(shard >= 1 && shard <= num_shards) << "shard " << shard << " of " << num_shards;
  const int64_t size = static_cast<int64_t>(triples.size());
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::tie(triples[a].relation, triples[a].head, a) < std::tie(triples[b].relation, triples[b].head, b);
  });
  std::vector<int64_t> part(order.begin() + size * (shard - 1) / num_shards, order.begin() + size * shard / num_shards);
  std::sort(part.begin(), part.end());
  return part;
}

absl::Status CheckRankTriplesOptions(const RankTriplesOptions& options, bool model_has_inverses) {
  if (options.convention == RankingConvention::kTiepin &&
      (options.filter != RankingFilter::kTrainValid || options.direction == RankingDirection::kBoth)) {
    return absl::InvalidArgumentError(
        "--ranking_convention=tiepin ranks tails alone and leaves out train+valid: needs --filter=train+valid, and "
        "--direction=auto or tail");
  }
  if (options.convention == RankingConvention::kOriginal && options.filter != RankingFilter::kAll) {
    return absl::InvalidArgumentError(
        "--ranking_convention=original leaves out train, valid and test: needs --filter=all");
  }
  if (options.convention == RankingConvention::kOriginal && options.device != nullptr) {
    return absl::InvalidArgumentError("--ranking_convention=original sorts, which a GPU does not: needs --device=cpu");
  }
  if (options.convention == RankingConvention::kOriginal && options.direction == RankingDirection::kBoth &&
      !model_has_inverses) {
    return absl::InvalidArgumentError(
        "--ranking_convention=original ranks heads through inverse relations, which this model lacks: leave out "
        "--direction=both");
  }
  if (options.candidates == nullptr) return absl::OkStatus();
  if (options.convention != RankingConvention::kStandard) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ranking_convention=", RankingConventionName(options.convention),
                     " reproduces ranks among all entities: leave out --candidates, or the convention"));
  }
  if (options.device != nullptr) {
    return absl::InvalidArgumentError(
        "--device=cuda counts among all entities, not among --candidates: needs --device=cpu");
  }
  if (options.candidates->has(true) && !RanksHeads(options, model_has_inverses)) {
    return absl::InvalidArgumentError(
        "candidates for heads, but tails alone are ranked: leave out --head_candidates, or give --direction=both");
  }
  return absl::OkStatus();
}

bool RanksHeads(const RankTriplesOptions& options, bool model_has_inverses) {
  return options.convention != RankingConvention::kTiepin &&
         (options.direction == RankingDirection::kBoth ||
          (options.direction == RankingDirection::kAuto && model_has_inverses));
}

std::string ConventionNote(RankingConvention convention) {
  switch (convention) {
    case RankingConvention::kStandard:
      return "";
    case RankingConvention::kTiepin:
      return "--ranking_convention=tiepin: a known wrong convention, for comparison only: tails alone, other test "
             "triples are not left out, a target is behind its equals, NaN ranks as 0";
    case RankingConvention::kOriginal:
      return "--ranking_convention=original: a known wrong convention, for comparison only: the place among sorted "
             "fp32 probabilities, where saturated ones tie and ties fall by id, NaN first";
  }
  LOG(FATAL) << "no such convention";
}

}  // namespace rutile
