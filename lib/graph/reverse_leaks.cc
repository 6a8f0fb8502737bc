#include "lib/graph/reverse_leaks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "lib/graph/triple_weights.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr double kNearlyAlways = 0.8;
constexpr double kAboveChance = 2;
constexpr double kLeastOfTests = 0.25;  // share of a relation's tests; what is nearly always there reaches it easily

using Pair = std::pair<int32_t, int32_t>;            // of entities
using Kinship = std::tuple<int32_t, int32_t, bool>;  // r, r', whether heads and tails change places

Triple Counterpart(const Triple& triple, int32_t relation, bool reversed) {
  return reversed ? Triple{triple.tail, relation, triple.head} : Triple{triple.head, relation, triple.tail};
}

// Calls f(r', reversed) for each training triple that joins the entities of a triple of valid or test, except with the
// triple's own relation in its own direction, and except loops, which are their own reverse.
class Joined {
 public:
  explicit Joined(const KnowledgeGraph& graph) {
    absl::flat_hash_set<Pair> wanted;
    for (const std::vector<Triple>* split : {&graph.valid, &graph.test}) {
      for (const Triple& triple : *split) {
        wanted.insert({triple.head, triple.tail});
        wanted.insert({triple.tail, triple.head});
      }
    }
    for (size_t i = 0; i < graph.train.size(); ++i) {
      const Triple& triple = graph.train[i];
      if (WeightOf(graph.train_weights, i) == 0) continue;
      if (triple.head != triple.tail && wanted.contains(Pair{triple.head, triple.tail})) {
        relations_[Pair{triple.head, triple.tail}].push_back(triple.relation);
      }
    }
  }

  template <typename F>
  void ForEach(const Triple& triple, F f) const {
    if (const auto found = relations_.find(Pair{triple.tail, triple.head}); found != relations_.end()) {
      for (const int32_t other : found->second) f(other, true);
    }
    if (const auto found = relations_.find(Pair{triple.head, triple.tail}); found != relations_.end()) {
      for (const int32_t other : found->second) {
        if (other != triple.relation) f(other, false);
      }
    }
  }

 private:
  absl::flat_hash_map<Pair, std::vector<int32_t>> relations_;
};

// The share of the pairs of a relation's heads and tails that it joins in training; 0 for relations that are not
// wanted.
std::vector<double> Densities(const KnowledgeGraph& graph, const std::vector<char>& wanted) {
  const size_t n = graph.relations.size();
  std::vector<int64_t> count(n, 0), heads(n, 0), tails(n, 0);
  absl::flat_hash_set<Pair> head_seen, tail_seen;
  for (size_t i = 0; i < graph.train.size(); ++i) {
    const Triple& triple = graph.train[i];
    if (!wanted[triple.relation] || WeightOf(graph.train_weights, i) == 0) continue;
    ++count[triple.relation];
    heads[triple.relation] += head_seen.insert({triple.relation, triple.head}).second;
    tails[triple.relation] += tail_seen.insert({triple.relation, triple.tail}).second;
  }
  std::vector<double> density(n, 0);
  for (size_t r = 0; r < n; ++r) {
    if (count[r] > 0) density[r] = static_cast<double>(count[r]) / (static_cast<double>(heads[r]) * tails[r]);
  }
  return density;
}

}  // namespace

std::array<LeakReport, 2> FindReverseLeaks(const KnowledgeGraph& graph) {
  std::array<LeakReport, 2> reports;
  if (graph.valid.empty() && graph.test.empty()) return reports;
  const std::array<const std::vector<Triple>*, 2> splits = {&graph.valid, &graph.test};
  const Joined joined(graph);
  // Candidates: relations that join the entities of a test in training. For those that may reach the share it is
  // counted.
  std::map<Kinship, double> share;
  std::vector<int64_t> num_tests(graph.relations.size(), 0);
  for (const std::vector<Triple>* split : splits) {
    for (const Triple& triple : *split) {
      ++num_tests[triple.relation];
      joined.ForEach(triple, [&](int32_t other, bool reversed) { ++share[Kinship{triple.relation, other, reversed}]; });
    }
  }
  for (auto it = share.begin(); it != share.end();) {
    const bool may_count = it->second >= kLeastOfTests * static_cast<double>(num_tests[std::get<0>(it->first)]);
    it->second = 0;
    it = may_count ? std::next(it) : share.erase(it);
  }
  const auto others = [&] {
    std::vector<char> wanted(graph.relations.size(), 0);
    for (const auto& [kinship, unused] : share) wanted[std::get<1>(kinship)] = 1;
    return wanted;
  };
  const std::vector<double> density = Densities(graph, others());
  // A relation that joins too many pairs has counterparts by chance, so it never counts.
  for (auto it = share.begin(); it != share.end();) {
    it = density[std::get<1>(it->first)] * kAboveChance > 1 ? share.erase(it) : std::next(it);
  }
  if (share.empty()) return reports;
  const std::vector<char> is_other = others();
  absl::flat_hash_set<Triple> known;  // triples of those relations
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    for (const Triple& triple : *split) {
      if (is_other[triple.relation]) known.insert(triple);
    }
  }
  std::vector<int64_t> num_triples(graph.relations.size(), 0);
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    for (const Triple& triple : *split) {
      if (triple.head == triple.tail) continue;
      ++num_triples[triple.relation];
      for (auto it = share.lower_bound(Kinship{triple.relation, 0, false});
           it != share.end() && std::get<0>(it->first) == triple.relation; ++it) {
        it->second += known.contains(Counterpart(triple, std::get<1>(it->first), std::get<2>(it->first)));
      }
    }
  }
  for (auto it = share.begin(); it != share.end();) {
    const auto [relation, other, reversed] = it->first;
    it->second /= static_cast<double>(num_triples[relation]);
    const bool counts = it->second >= kNearlyAlways && it->second >= kAboveChance * density[other];
    it = counts ? std::next(it) : share.erase(it);
  }

  for (size_t i = 0; i < splits.size(); ++i) {
    LeakReport& report = reports[i];
    report.leaks.assign(splits[i]->size(), 0);
    std::map<Kinship, int64_t> counts;
    for (size_t row = 0; row < splits[i]->size(); ++row) {
      const Triple& triple = (*splits[i])[row];
      // If several pairs explain the triple, the one with the largest share is named.
      const std::pair<const Kinship, double>* best = nullptr;
      joined.ForEach(triple, [&](int32_t other, bool reversed) {
        const auto found = share.find(Kinship{triple.relation, other, reversed});
        if (found == share.end()) return;
        if (best == nullptr || found->second > best->second ||
            (found->second == best->second && found->first < best->first)) {
          best = &*found;
        }
      });
      if (best == nullptr) continue;
      report.leaks[row] = 1;
      ++report.count;
      ++counts[best->first];
    }
    for (const auto& [kinship, count] : counts) {
      const auto [relation, other, reversed] = kinship;
      const RelationLeak::Kind kind = !reversed           ? RelationLeak::kSame
                                      : relation == other ? RelationLeak::kSymmetric
                                                          : RelationLeak::kInverse;
      report.pairs.push_back({kind, relation, other, count, share.at(kinship)});
    }
    std::stable_sort(report.pairs.begin(), report.pairs.end(),
                     [](const RelationLeak& a, const RelationLeak& b) { return a.count > b.count; });
  }
  return reports;
}

std::string DescribeLeaks(const LeakReport& report, const KnowledgeGraph& graph, int limit) {
  const std::vector<std::string>& names = graph.relation_labels.empty() ? graph.relations : graph.relation_labels;
  std::string text;
  for (int i = 0; i < limit && i < static_cast<int>(report.pairs.size()); ++i) {
    const RelationLeak& pair = report.pairs[i];
    const std::string relation = JsonQuote(names[pair.relation]), other = JsonQuote(names[pair.other]);
    absl::StrAppend(&text, text.empty() ? "" : ", ", relation);
    switch (pair.kind) {
      case RelationLeak::kInverse:
        absl::StrAppend(&text, " as the inverse of ", other);
        break;
      case RelationLeak::kSymmetric:
        absl::StrAppend(&text, ", which is symmetric");
        break;
      case RelationLeak::kSame:
        absl::StrAppend(&text, " as another name of ", other);
        break;
    }
    absl::StrAppend(&text, " (", pair.count, "; ", std::lround(100 * pair.share), " % of its triples)");
  }
  if (limit < static_cast<int>(report.pairs.size())) absl::StrAppend(&text, ", ...");
  return text;
}

}  // namespace rutile
