#include "lib/graph/text/formats/table_evidence.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace rutile {
namespace {

constexpr int64_t kFewestOthers = 2;      // triples beside first lines; with fewer, nothing can stand alone
constexpr int64_t kRareForStrong = 1000;  // one in so many triples may stand alone by chance
constexpr int64_t kFewestForSome = 20;    // triples beside first lines; small graphs are loose by chance
constexpr int64_t kRareForSome = 10;      // one in so many triples may stand alone by chance
constexpr int64_t kFewestForOrder = 4;    // triples
constexpr int64_t kSmallOverlap = 20;     // one in so many tails that are heads, too, is an accident

// Counts the triples of each entity and relation.
class Occurrences {
 public:
  explicit Occurrences(const KnowledgeGraph& graph)
      : entities_(graph.num_entities()), relations_(graph.num_relations()) {
    for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
      for (const Triple& triple : *split) Count(triple, 1);
    }
  }

  // A line that several splits have is the same evidence once.
  void Forget(const Triple& triple) { Count(triple, -1); }

  bool EndsStandAlone(const Triple& triple) const {
    return triple.head != triple.tail && entities_[triple.head] == 1 && entities_[triple.tail] == 1;
  }
  bool StandsAlone(const Triple& triple) const { return EndsStandAlone(triple) && relations_[triple.relation] == 1; }

 private:
  void Count(const Triple& triple, int64_t change) {
    entities_[triple.head] += change;
    if (triple.tail != triple.head) entities_[triple.tail] += change;
    relations_[triple.relation] += change;
  }

  std::vector<int64_t> entities_, relations_;
};

// "# Head_ID" -> "head".
std::string PlainTitle(absl::string_view name) {
  std::string title;
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) title += absl::ascii_tolower(c);
  }
  absl::string_view plain = title;
  for (const absl::string_view end : {"id", "name", "label", "entity", "type"}) {
    if (plain.size() > end.size()) plain = absl::StripSuffix(plain, end);
  }
  if (plain.size() > 6) plain = absl::StripPrefix(plain, "entity");
  return std::string(plain);
}

bool HasUsualTitles(const KnowledgeGraph& graph, const Triple& triple) {
  static const auto& heads = *new std::set<std::string>{"head", "h",    "subject", "subj",  "sub",     "s",  "source",
                                                        "src",  "from", "start",   "node1", "entity1", "e1", "lhs"};
  static const auto& relations =
      *new std::set<std::string>{"relation", "rel",  "r",    "predicate", "pred",         "p",   "edge", "metaedge",
                                 "label",    "type", "link", "property",  "relationship", "verb"};
  static const auto& tails = *new std::set<std::string>{"tail", "t",  "object", "obj",   "o",       "target", "tgt",
                                                        "dst",  "to", "end",    "node2", "entity2", "e2",     "rhs"};
  return heads.count(PlainTitle(graph.entities[triple.head])) > 0 &&
         relations.count(PlainTitle(graph.relations[triple.relation])) > 0 &&
         tails.count(PlainTitle(graph.entities[triple.tail])) > 0;
}

}  // namespace

std::vector<TableJudgment> JudgeFirstLines(const KnowledgeGraph& graph, absl::Span<const FirstLine> lines) {
  std::vector<TableJudgment> judgments(lines.size());
  if (lines.empty()) return judgments;
  std::set<Triple> firsts;
  for (const FirstLine& line : lines) firsts.insert(line.triple);
  Occurrences occurrences(graph);
  std::set<Triple> seen;
  int64_t num_others = 0;
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    for (const Triple& triple : *split) {
      if (firsts.count(triple) == 0) {
        ++num_others;
      } else if (!seen.insert(triple).second) {
        occurrences.Forget(triple);
      }
    }
  }
  int64_t num_alone = 0, num_ends_alone = 0;  // of the others
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    for (const Triple& triple : *split) {
      if (!occurrences.EndsStandAlone(triple) || firsts.count(triple) > 0) continue;
      ++num_ends_alone;
      num_alone += occurrences.StandsAlone(triple);
    }
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const Triple& triple = lines[i].triple;
    if (!occurrences.EndsStandAlone(triple)) continue;
    const bool is_alone = occurrences.StandsAlone(triple);
    const int64_t num_like_it = is_alone ? num_alone : num_ends_alone;
    TableJudgment& judgment = judgments[i];
    judgment.reason =
        absl::StrCat(is_alone ? "its relation and both entities are" : "both its entities are", " in no other line");
    if (HasUsualTitles(graph, triple)) {
      judgment.evidence = Evidence::kStrong;
    } else if (is_alone && num_others >= kFewestOthers && num_like_it * kRareForStrong <= num_others) {
      judgment.evidence = Evidence::kStrong;
    } else if (num_others >= kFewestForSome && num_like_it * kRareForSome <= num_others) {
      judgment.evidence = Evidence::kSome;
    }
  }
  return judgments;
}

TableJudgment JudgeColumnOrder(const KnowledgeGraph& graph) {
  std::vector<bool> is_head(graph.entities.size(), false), is_tail(graph.entities.size(), false);
  std::vector<int64_t> triples_of(graph.relations.size());
  int64_t num_triples = 0;
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    for (const Triple& triple : *split) {
      is_head[triple.head] = is_tail[triple.tail] = true;
      ++triples_of[triple.relation];
      ++num_triples;
    }
  }
  const int64_t num_heads = std::count(is_head.begin(), is_head.end(), true);
  const int64_t num_tails = std::count(is_tail.begin(), is_tail.end(), true);
  const int64_t num_relations = triples_of.size() - std::count(triples_of.begin(), triples_of.end(), 0);
  const int64_t num_single = std::count(triples_of.begin(), triples_of.end(), 1);
  int64_t num_both = 0;
  for (size_t i = 0; i < is_head.size(); ++i) num_both += is_head[i] && is_tail[i];
  const int64_t num_entities = num_heads + num_tails - num_both;
  TableJudgment judgment;
  if (num_triples < kFewestForOrder || num_relations < 2) return judgment;
  if (num_triples >= kFewestForSome && num_relations > num_entities && num_triples < 2 * num_relations &&
      2 * num_single > num_relations) {
    judgment.evidence = Evidence::kSome;
    judgment.reason = absl::StrCat(
        num_relations, " relations are more than the ", num_entities, " entities, and ", num_single,
        " of them have one triple each, so that little can be learned: the relation may be in another column; then "
        "give --columns=1,3,2 if it is the last, otherwise --columns=1,2,3");
  }
  if (num_both * kSmallOverlap > std::min(num_heads, num_tails)) return judgment;
  bool relations_are_last = num_relations >= num_tails && num_tails <= num_heads;
  const bool relations_are_first = !relations_are_last && num_relations >= num_heads;
  if (!relations_are_last && !relations_are_first) return judgment;

  absl::flat_hash_set<absl::string_view> heads, tails;
  for (size_t i = 0; i < is_head.size(); ++i) {
    if (is_head[i]) heads.insert(graph.entities[i]);
    if (is_tail[i]) tails.insert(graph.entities[i]);
  }
  int64_t num_shared = 0, num_shared_heads = 0, num_shared_tails = 0;
  for (size_t i = 0; i < triples_of.size(); ++i) {
    if (triples_of[i] == 0) continue;
    const bool with_heads = heads.contains(graph.relations[i]), with_tails = tails.contains(graph.relations[i]);
    num_shared_heads += with_heads;
    num_shared_tails += with_tails;
    num_shared += with_heads || with_tails;
  }
  judgment.evidence = 2 * num_shared >= num_relations ? Evidence::kStrong : Evidence::kSome;
  // Columns that share names hold entities. This outweighs numbers: a small graph has more relations than entities.
  const bool shared_decide = judgment.evidence == Evidence::kStrong && num_shared_heads != num_shared_tails;
  if (shared_decide) relations_are_last = num_shared_heads > num_shared_tails;
  const int64_t num_few = relations_are_last ? num_tails : num_heads;
  judgment.reason =
      absl::StrCat(num_relations, " relations, ", num_few <= num_relations ? "but " : "", num_few,
                   relations_are_last ? " tails" : " heads",
                   num_both == 0 ? ", and no tail is a head" : ", and hardly any tail is a head",
                   num_shared > 0 ? absl::StrCat("; ", num_shared, " names are both a relation and an entity") : "",
                   ": the order may be ", relations_are_last ? "head, tail, relation" : "relation, head, tail",
                   "; then give --columns=", relations_are_last ? "1,3,2" : "2,1,3", ", otherwise --columns=1,2,3");
  return judgment;
}

}  // namespace rutile
