#include "lib/influence/top_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// True if a comes before b on the list. This is a strict order, as no example is there twice.
bool Before(InfluenceRanking ranking, const ScoredExample& a, const ScoredExample& b) {
  double x = a.score, y = b.score;
  if (ranking == InfluenceRanking::kLowest) {
    x = -x;
    y = -y;
  } else if (ranking == InfluenceRanking::kAbsolute) {
    x = std::abs(x);
    y = std::abs(y);
  }
  return x != y ? x > y : a.train < b.train;
}

}  // namespace

TopScores::TopScores(InfluenceRanking ranking, int64_t k, int64_t parts)
    : ranking_(ranking), k_(k), parts_(parts), low_(-kInfinity), high_(-kInfinity) {
  CHECK_GE(k, 0);
  CHECK_LT(k, std::numeric_limits<int32_t>::max() / 2);
  switch (ranking) {
    case InfluenceRanking::kHighest:
      sides_ = {{InfluenceRanking::kHighest, {}, {}, {}, false}};
      break;
    case InfluenceRanking::kLowest:
      sides_ = {{InfluenceRanking::kLowest, {}, {}, {}, false}};
      low_ = high_ = kInfinity;
      break;
    case InfluenceRanking::kAbsolute:
      sides_ = {{InfluenceRanking::kAbsolute, {}, {}, {}, false}};
      low_ = kInfinity;
      break;
    case InfluenceRanking::kBoth:
      sides_ = {{InfluenceRanking::kHighest, {}, {}, {}, false}};
      if (k > 0) sides_.push_back({InfluenceRanking::kLowest, {}, {}, {}, false});
      low_ = kInfinity;
      break;
  }
}

void TopScores::Add(double score, int64_t train, const std::function<double(int64_t)>& part) {
  DCHECK(std::isfinite(score));
  const ScoredExample entry = {score, static_cast<int32_t>(train), 0};
  for (Side& side : sides_) AddTo(&side, entry, part);
}

void TopScores::AddTo(Side* side, const ScoredExample& entry, const std::function<double(int64_t)>& part) {
  if (side->full && !Before(side->ranking, entry, side->worst)) return;
  side->entries.push_back(entry);
  if (parts_ > 0) {
    side->entries.back().slot = static_cast<int32_t>(side->entries.size() - 1);
    for (int64_t p = 0; p < parts_; ++p) side->parts.push_back(part(p));
  }
  if (k_ > 0 && static_cast<int64_t>(side->entries.size()) >= std::max<int64_t>(2 * k_, 16)) Prune(side);
}

void TopScores::Prune(Side* side) {
  std::vector<ScoredExample>& entries = side->entries;
  if (k_ == 0 || static_cast<int64_t>(entries.size()) < k_) return;
  const auto before = [side](const ScoredExample& a, const ScoredExample& b) { return Before(side->ranking, a, b); };
  std::nth_element(entries.begin(), entries.begin() + (k_ - 1), entries.end(), before);
  entries.resize(k_);
  side->worst = entries[k_ - 1];
  side->full = true;
  if (parts_ > 0) {
    std::vector<double> parts;
    parts.reserve(side->parts.capacity());
    for (ScoredExample& entry : entries) {
      const double* from = side->parts.data() + entry.slot * parts_;
      entry.slot = static_cast<int32_t>(parts.size() / parts_);
      parts.insert(parts.end(), from, from + parts_);
    }
    side->parts = std::move(parts);
  }
  const double score = side->worst.score;
  if (side->ranking == InfluenceRanking::kHighest) high_ = score;
  if (side->ranking == InfluenceRanking::kLowest) low_ = score;
  if (side->ranking == InfluenceRanking::kAbsolute) {
    low_ = -std::abs(score);
    high_ = std::abs(score);
  }
}

void TopScores::AppendSorted(std::vector<int64_t>* train, std::vector<double>* score, std::vector<double>* part_score) {
  struct Listed {
    ScoredExample entry;
    const double* part;
  };
  std::vector<Listed> listed;
  for (Side& side : sides_) {
    Prune(&side);
    for (const ScoredExample& entry : side.entries) {
      listed.push_back({entry, parts_ > 0 ? side.parts.data() + entry.slot * parts_ : nullptr});
    }
  }
  const InfluenceRanking ranking = ranking_ == InfluenceRanking::kBoth ? InfluenceRanking::kHighest : ranking_;
  std::sort(listed.begin(), listed.end(),
            [ranking](const Listed& a, const Listed& b) { return Before(ranking, a.entry, b.entry); });
  const auto same = [](const Listed& a, const Listed& b) { return a.entry.train == b.entry.train; };
  listed.erase(std::unique(listed.begin(), listed.end(), same), listed.end());
  for (const Listed& one : listed) {
    train->push_back(one.entry.train);
    score->push_back(one.entry.score);
    if (parts_ > 0) part_score->insert(part_score->end(), one.part, one.part + parts_);
  }
}

}  // namespace rutile
