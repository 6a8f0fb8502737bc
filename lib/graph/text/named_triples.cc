#include "lib/graph/text/named_triples.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/graph/name_ids.h"
#include "lib/graph/text/formats/triple_reader.h"

namespace rutile {
namespace {

absl::StatusOr<int32_t> ParseId(absl::string_view what, absl::string_view text, int64_t end) {
  int64_t id = -1;
  if (absl::SimpleAtoi(text, &id) && id >= 0 && id < end) return static_cast<int32_t>(id);
  return absl::InvalidArgumentError(absl::StrCat("no ", what, " has the id ", text, ": there are ", end));
}

}  // namespace

absl::StatusOr<std::vector<Triple>> ReadNamedTriples(absl::string_view path, const KnowledgeGraph& names,
                                                     EdgeMap* edges) {
  const NameIds entities("entity", names.entities, names.entity_labels);
  const NameIds relations("relation", names.relations, names.relation_labels);
  ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, edges));
  // Relations of edges are called by what they say: their numbers are of this file alone, unless an edge map names
  // them.
  const bool by_label = reader.format() == KgFormat::kKgxEdges && edges->grows();
  if (by_label && names.relation_labels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(reader.path(),
                     ": which relations these KGX edges have is told by --edge_map, the one of the training triples"));
  }
  const NameIds relation_labels("relation", names.relation_labels, {});
  const auto find_relation = [&](absl::string_view name) {
    return by_label ? relation_labels.Find(edges->LabelOf(name)) : relations.Find(name);
  };
  const bool ids = reader.format() == KgFormat::kCountedTriples;
  const auto parse = [&](const TextTriple& text) -> absl::StatusOr<Triple> {
    Triple triple;
    if (ids) {
      ASSIGN_OR_RETURN(triple.head, ParseId("entity", text.head, names.num_entities()));
      ASSIGN_OR_RETURN(triple.relation, ParseId("relation", text.relation, names.num_relations()));
      ASSIGN_OR_RETURN(triple.tail, ParseId("entity", text.tail, names.num_entities()));
    } else {
      ASSIGN_OR_RETURN(triple.head, entities.Find(text.head));
      ASSIGN_OR_RETURN(triple.relation, find_relation(text.relation));
      ASSIGN_OR_RETURN(triple.tail, entities.Find(text.tail));
    }
    return triple;
  };
  std::vector<Triple> triples;
  TextTriple text;
  while (true) {
    const TripleReader::Item item = reader.Next(&text);
    if (item == TripleReader::kEnd) break;
    if (item == TripleReader::kMalformed) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", reader.problem()));
    }
    if (item == TripleReader::kNegated) {
      return absl::InvalidArgumentError(
          absl::StrCat(reader.Place(), ": the statement is negated, expected triples that hold; leave it out"));
    }
    if (reader.unknown_relation()) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", reader.problem()));
    }
    const absl::StatusOr<Triple> triple = parse(text);
    if (!triple.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", triple.status().message()));
    }
    triples.push_back(*triple);
  }
  RETURN_IF_ERROR(reader.status());
  if (triples.empty()) return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": no triples in it"));
  return triples;
}

}  // namespace rutile
