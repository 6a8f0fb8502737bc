// Turns KGX edges into triples: a JSON object in a line, or a row of edges.tsv.
//
// The relation is named by an EdgeMap from the predicate and the qualifiers: every field whose name contains "qualif",
// so that RTX-KG2's qualified_object_direction counts as biolink's object_direction_qualifier does, and each element of
// TRAPI's list, {"qualifier_type_id": "biolink:object_direction_qualifier", "qualifier_value": "increased"}, as the
// field that it names. "negated": true, or the same as an attribute of TRAPI, denies the statement.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_EDGE_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_EDGE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/formats/json_line.h"

namespace rutile {

// True for a field that qualifies the statement: all of Biolink's have "qualifier" or "qualified" in their names.
bool IsKgxQualifier(absl::string_view name);

// What makes the relation of an edge, beside an edge map that does not grow.
struct EdgeOptions {
  bool negated_relations = false;  // negated statements are relations of their own; otherwise they are no triples
  bool negated_as_false = false;   // negated statements are the triples that they deny, which are to be false ones
  // Qualifiers that tell relations apart; nullopt for all that edges have.
  std::optional<std::vector<std::string>> qualifiers;
};

// Parses edges. An edge map that does not grow decides alone which relations there are: an edge with a qualifier that
// no key of it names is of none of them.
class KgxEdgeParser {
 public:
  enum Outcome {
    kEdge,
    kMalformed,        // see problem()
    kNegated,          // the statement is denied, and nothing makes a relation of that
    kUnknownRelation,  // the edge map, which does not grow, lacks the relation; problem() says which
  };

  // edges must outlive the parser.
  KgxEdgeParser(EdgeMap* edges, EdgeOptions options) : edges_(edges), options_(std::move(options)) {}

  // Parses a line of edges.jsonl.
  Outcome ParseLine(absl::string_view line);
  // Parses a row of a table with these columns.
  Outcome ParseRow(absl::Span<const std::string> columns, absl::Span<const absl::string_view> fields);

  // The edge, valid until the next call; relation is "" for kUnknownRelation.
  absl::string_view subject() const { return ends_[0]; }
  absl::string_view relation() const { return relation_; }
  absl::string_view object() const { return ends_[1]; }
  bool is_negated() const { return negated_; }
  const std::string& problem() const { return problem_; }
  // Qualifiers that the edge has, but that tell no relations apart; value is what there is, for messages.
  const std::vector<JsonField>& unused() const { return unused_; }

 private:
  Outcome Malformed(std::string problem);
  // Adds what the lists of TRAPI hold to others_. False if they contradict each other; see problem_.
  bool AddNested(absl::string_view line);
  Outcome Finish();

  EdgeMap* edges_;
  EdgeOptions options_;
  std::vector<std::string> ends_;    // subject, object and predicate
  std::vector<JsonField> others_;    // "negated", qualifiers and other fields of the edge map
  std::vector<std::string> values_;  // of the edge map's fields
  absl::string_view relation_;
  bool negated_ = false;
  std::string problem_;
  std::vector<JsonField> unused_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_EDGE_H_
