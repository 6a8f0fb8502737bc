#include "lib/influence/files/merge_influence.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/influence/top_scores.h"

namespace rutile {
namespace {

// Returns INVALID_ARGUMENT unless the share has the same results as the first.
absl::Status CheckAlike(const Influence& first, const Influence& share, size_t number) {
  const auto differ = [number](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("shares 1 and ", number, " differ in ", what));
  };
  if (share.tests != first.tests) return differ("their tests");
  if (share.part_names != first.part_names) return differ("their parts");
  // A test's self-influence does not depend on training examples.
  if (share.test_self != first.test_self || share.test_self_part != first.test_self_part) {
    return differ("the tests' self-influence");
  }
  // An empty share does not tell what the others should contain.
  if (!share.score.empty() && !first.score.empty() && share.part_score.empty() != first.part_score.empty()) {
    return differ("whether they hold scores of parts");
  }
  if (!share.train_order.empty() && !first.train_order.empty() &&
      (share.train_self.empty() != first.train_self.empty() ||
       share.train_self_part.empty() != first.train_self_part.empty())) {
    return differ("whether they hold the training examples' self-influence");
  }
  return absl::OkStatus();
}

void Append(const std::vector<double>& from, std::vector<double>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

absl::StatusOr<Influence> MergeInfluence(absl::Span<const Influence* const> shares, InfluenceRanking ranking,
                                         int64_t top_k) {
  if (shares.empty()) return absl::InvalidArgumentError("no shares");
  const Influence& first = *shares[0];
  Influence merged;
  merged.tests = first.tests;
  merged.part_names = first.part_names;
  merged.test_self = first.test_self;
  merged.test_self_part = first.test_self_part;
  absl::flat_hash_map<int64_t, size_t> share_of;
  int64_t parts = 0;
  for (size_t s = 0; s < shares.size(); ++s) {
    const Influence& share = *shares[s];
    RETURN_IF_ERROR(CheckAlike(first, share, s + 1));
    for (const int64_t example : share.train_order) {
      const auto [place, is_new] = share_of.emplace(example, s + 1);
      if (!is_new) {
        return absl::InvalidArgumentError(
            absl::StrCat("training example ", example, " is in shares ", place->second, " and ", s + 1));
      }
    }
    merged.train_order.insert(merged.train_order.end(), share.train_order.begin(), share.train_order.end());
    Append(share.train_self, &merged.train_self);
    Append(share.train_self_part, &merged.train_self_part);
    if (!share.part_score.empty()) parts = static_cast<int64_t>(share.part_names.size());
  }
  merged.offset = {0};
  for (size_t t = 0; t < merged.tests.size(); ++t) {
    TopScores top(ranking, top_k, parts);
    for (const Influence* share : shares) {
      for (int64_t i = share->offset[t]; i < share->offset[t + 1]; ++i) {
        top.Add(share->score[i], share->train[i], [&](int64_t p) { return share->part_score[i * parts + p]; });
      }
    }
    top.AppendSorted(&merged.train, &merged.score, &merged.part_score);
    merged.offset.push_back(static_cast<int64_t>(merged.train.size()));
  }
  return merged;
}

}  // namespace rutile
