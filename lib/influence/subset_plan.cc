#include "lib/influence/subset_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

// How far rounding may move a sum of shares that is a whole number.
constexpr double kRounding = 1e-9;

// Returns a random order of `items`.
std::vector<int64_t> Shuffled(const std::vector<int64_t>& items, RandomStream* stream) {
  std::vector<int64_t> order = items;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream->Below(i)]);
  return order;
}

// Returns how many examples each stratum keeps. The fractions that rounding down leaves are drawn systematically: a
// stratum gets one more with the probability of its fraction, and the sum is the rounded sum of shares.
std::vector<int64_t> Sizes(const std::vector<std::vector<int64_t>>& strata, double kept, int64_t total,
                           RandomStream* stream) {
  std::vector<int64_t> sizes;
  int64_t left = total;
  std::vector<double> fractions;
  double sum = 0;
  for (const std::vector<int64_t>& stratum : strata) {
    const double share = kept * static_cast<double>(stratum.size());
    sizes.push_back(static_cast<int64_t>(std::floor(share + kRounding)));
    fractions.push_back(std::max(0.0, share - static_cast<double>(sizes.back())));
    sum += fractions.back();
    left -= sizes.back();
  }
  if (left <= 0 || sum <= 0) return sizes;
  // A step that leaves exactly `left` points in [0, sum); it is 1 but for the rounding of the total.
  const double step = sum / static_cast<double>(left), start = stream->Uniform() * step;
  double begin = 0;
  int64_t taken = 0;
  for (size_t s = 0; s < sizes.size(); ++s) {
    const double end = begin + fractions[s];
    while (taken < left && start + static_cast<double>(taken) * step < end &&
           sizes[s] < static_cast<int64_t>(strata[s].size())) {
      ++sizes[s];
      ++taken;
    }
    begin = end;
  }
  return sizes;
}

// Makes each entity keep one of its examples.
class Cover {
 public:
  Cover(absl::Span<const int64_t> stratum, absl::Span<const std::array<int32_t, 2>> links)
      : stratum_(stratum), links_(links) {
    int32_t last = -1;
    for (const auto& link : links) last = std::max({last, link[0], link[1]});
    examples_of_.resize(last + 1);
    for (size_t i = 0; i < links.size(); ++i) {
      for (const int32_t entity : Ends(i)) examples_of_[entity].push_back(static_cast<int64_t>(i));
    }
  }

  void Complete(RandomStream* stream, absl::Span<uint8_t> kept) {
    count_.assign(examples_of_.size(), 0);
    std::vector<int64_t> spare;  // kept examples, in the order in which they may be given up
    for (size_t i = 0; i < links_.size(); ++i) {
      if (kept[i] == 0) continue;
      spare.push_back(static_cast<int64_t>(i));
      for (const int32_t entity : Ends(i)) ++count_[entity];
    }
    spare = Shuffled(spare, stream);
    for (size_t entity = 0; entity < examples_of_.size(); ++entity) {
      if (count_[entity] > 0 || examples_of_[entity].empty()) continue;
      const int64_t added = examples_of_[entity][stream->Below(examples_of_[entity].size())];
      kept[added] = 1;
      for (const int32_t end : Ends(added)) ++count_[end];
      GiveUp(added, kept, &spare);
    }
  }

 private:
  // The entities of an example, once each.
  absl::Span<const int32_t> Ends(size_t i) const {
    return absl::MakeConstSpan(links_[i]).subspan(0, links_[i][0] == links_[i][1] ? 1 : 2);
  }

  void GiveUp(int64_t added, absl::Span<uint8_t> kept, std::vector<int64_t>* spare) {
    for (auto candidate = spare->begin(); candidate != spare->end(); ++candidate) {
      const int64_t i = *candidate;
      if (!stratum_.empty() && stratum_[i] != stratum_[added]) continue;
      const absl::Span<const int32_t> ends = Ends(i);
      if (std::any_of(ends.begin(), ends.end(), [&](int32_t entity) { return count_[entity] < 2; })) continue;
      kept[i] = 0;
      for (const int32_t entity : ends) --count_[entity];
      spare->erase(candidate);
      return;
    }
  }

  const absl::Span<const int64_t> stratum_;
  const absl::Span<const std::array<int32_t, 2>> links_;
  std::vector<std::vector<int64_t>> examples_of_;  // by entity
  std::vector<int64_t> count_;                     // kept examples of each entity
};

}  // namespace

absl::StatusOr<std::vector<uint8_t>> DrawSubsets(int64_t n, const SubsetPlanOptions& options,
                                                 absl::Span<const int64_t> stratum,
                                                 absl::Span<const std::array<int32_t, 2>> links) {
  if (n < 2) return absl::InvalidArgumentError(absl::StrCat(n, " training examples, expected 2 or more"));
  if (options.num_subsets < 1) {
    return absl::InvalidArgumentError(absl::StrCat(options.num_subsets, " subsets, expected 1 or more"));
  }
  const auto total = static_cast<int64_t>(std::llround(options.kept * static_cast<double>(n)));
  if (!(options.kept > 0 && options.kept < 1) || total < 1 || total >= n) {
    return absl::InvalidArgumentError(absl::StrCat("a share of ", options.kept, " of ", n,
                                                   " training examples, expected one that keeps some and leaves some "
                                                   "out"));
  }
  CHECK(stratum.empty() || static_cast<int64_t>(stratum.size()) == n);
  CHECK(links.empty() || static_cast<int64_t>(links.size()) == n);
  std::vector<std::vector<int64_t>> strata(1);
  for (int64_t i = 0; i < n; ++i) {
    const size_t number = stratum.empty() ? 0 : stratum[i];
    if (number >= strata.size()) strata.resize(number + 1);
    strata[number].push_back(i);
  }
  Cover cover(stratum, links);
  std::vector<uint8_t> kept(options.num_subsets * n, 0);
  for (int64_t m = 0; m < options.num_subsets; ++m) {
    RandomStream stream(options.seed, "subsets", m);
    const absl::Span<uint8_t> subset = absl::MakeSpan(kept).subspan(m * n, n);
    const std::vector<int64_t> sizes = Sizes(strata, options.kept, total, &stream);
    for (size_t s = 0; s < strata.size(); ++s) {
      const std::vector<int64_t> order = Shuffled(strata[s], &stream);
      for (int64_t i = 0; i < sizes[s]; ++i) subset[order[i]] = 1;
    }
    if (!links.empty()) cover.Complete(&stream, subset);
  }
  return kept;
}

}  // namespace rutile
