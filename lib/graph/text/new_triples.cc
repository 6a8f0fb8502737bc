#include "lib/graph/text/new_triples.h"

#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/graph/name_ids.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/formats/triple_reader.h"
#include "lib/graph/vocabulary.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// The entities that are known, and those that are added while lines are read.
class Entities {
 public:
  explicit Entities(const KnowledgeGraph& known)
      : num_known_(known.num_entities()), known_("entity", known.entities, known.entity_labels) {}

  absl::StatusOr<int32_t> FindOrAdd(absl::string_view name) {
    if (known_.Has(name)) return known_.Find(name);
    if (added_.Find(name) == Vocabulary::kUnknown &&
        num_known_ + added_.size() >= std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("there are more entities than ids");
    }
    return static_cast<int32_t>(num_known_ + added_.Add(name));
  }
  bool IsNew(int32_t id) const { return id >= num_known_; }
  std::vector<std::string> AddedNames() const { return added_.Names(); }

 private:
  const int64_t num_known_;
  const NameIds known_;
  Vocabulary added_;
};

absl::Status CheckOneIsNew(const Entities& entities, const Triple& triple, const TextTriple& text) {
  if (entities.IsNew(triple.head) != entities.IsNew(triple.tail)) return absl::OkStatus();
  if (!entities.IsNew(triple.head)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model knows both ", JsonQuote(text.head), " and ", JsonQuote(text.tail),
                     ", expected one new entity in each triple: leave the line out, or train with it"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the model knows neither ", JsonQuote(text.head), " nor ", JsonQuote(text.tail),
      ", expected one known entity in each triple: leave the line out, or fold one of them in first (--output_model, "
      "--output_triples) and then the other into that model"));
}

}  // namespace

absl::StatusOr<NewTriples> ReadNewTriples(absl::string_view path, const KnowledgeGraph& known) {
  Entities entities(known);
  const NameIds relations("relation", known.relations, known.relation_labels);
  const NameIds relation_labels("relation", known.relation_labels, {});
  EdgeMap edges;
  ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, &edges));
  if (reader.format() == KgFormat::kCountedTriples) {
    return absl::InvalidArgumentError(
        absl::StrCat(reader.path(), ": holds ids, expected names: a new entity has no id yet"));
  }
  const bool by_label = reader.format() == KgFormat::kKgxEdges;
  if (by_label && known.relation_labels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(reader.path(),
                     ": which relations these KGX edges have is told by labels of relations, which the "
                     "model lacks: give head, relation and tail by name, with tabs between"));
  }
  NewTriples result;
  result.path = reader.path();
  absl::flat_hash_set<Triple> seen;
  const auto add = [&](const TextTriple& text) -> absl::Status {
    Triple triple;
    ASSIGN_OR_RETURN(triple.relation,
                     by_label ? relation_labels.Find(edges.LabelOf(text.relation)) : relations.Find(text.relation));
    ASSIGN_OR_RETURN(triple.head, entities.FindOrAdd(text.head));
    ASSIGN_OR_RETURN(triple.tail, entities.FindOrAdd(text.tail));
    RETURN_IF_ERROR(CheckOneIsNew(entities, triple, text));
    if (seen.insert(triple).second) {
      result.triples.push_back(triple);
    } else {
      ++result.num_repeated;
    }
    return absl::OkStatus();
  };
  TextTriple text;
  while (true) {
    const TripleReader::Item item = reader.Next(&text);
    if (item == TripleReader::kEnd) break;
    if (item == TripleReader::kMalformed || reader.unknown_relation()) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", reader.problem()));
    }
    if (item == TripleReader::kNegated) {
      return absl::InvalidArgumentError(
          absl::StrCat(reader.Place(), ": the statement is negated, expected triples that hold; leave it out"));
    }
    if (const absl::Status status = add(text); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", status.message()));
    }
  }
  RETURN_IF_ERROR(reader.status());
  if (result.triples.empty()) return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": no triples in it"));
  result.names = entities.AddedNames();
  return result;
}

}  // namespace rutile
