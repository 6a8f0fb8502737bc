// Reads triples from a text file one after another: a table of names or ids, OpenKE's counted ids, KGX edges, or
// N-Triples.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_TRIPLE_READER_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_TRIPLE_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/finding.h"
#include "lib/graph/text/formats/kg_format.h"
#include "lib/graph/text/formats/kgx_edge.h"
#include "lib/graph/text/formats/n_triples.h"
#include "lib/graph/text/formats/table_layout.h"

namespace rutile {

// A triple as text: names, or ids as digits. Valid until the next call of Next.
struct TextTriple {
  absl::string_view head, relation, tail;
  double weight = 1;  // that of table.weight_column
};

// How to read what the content of a file leaves open.
struct TripleReaderOptions {
  TableOptions table;
  EdgeOptions edges;  // its options of negated statements apply to a column "negated" of any table, too
};

// Reads a file of triples.
//
//   ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, &edges));
//   TripleReader::Item item;
//   while ((item = reader.Next(&triple)) != TripleReader::kEnd) ...
//   RETURN_IF_ERROR(reader.status());
//
// Lines are those of LineReader (CRLF, no last line end, gzip); blank lines are ignored. Between tabs, a field is all
// text, including spaces and leading zeros; table_layout.h says how other tables are read.
class TripleReader {
 public:
  enum Item {
    kTriple,
    kMalformed,  // the line is no triple; see problem()
    kNegated,    // the line denies a statement, and is no triple
    kEnd,
  };

  // Opens a file and recognizes its format by content; if that is impossible, lines are read as names. edges: names the
  // relations of KGX edges; must outlive the reader. Errors are those of LineReader::Open, and INVALID_ARGUMENT for a
  // file of another KgFormat (ids, nodes), which the message names, for other forms of RDF and of JSON, for columns
  // that line 1 does not have, and for weights where the format has none.
  static absl::StatusOr<TripleReader> Open(absl::string_view path, EdgeMap* edges,
                                           const TripleReaderOptions& options = {});
  // Reads from bytes in memory; `path` is for messages.
  static absl::StatusOr<TripleReader> FromBytes(absl::string_view path, std::string bytes, EdgeMap* edges,
                                                const TripleReaderOptions& options = {});

  // Reads the next item.
  Item Next(TextTriple* triple);
  // What is wrong with the line and what was expected, without file and line.
  const std::string& problem() const { return problem_; }
  // True if the edge map, which does not grow, lacks the relation: then the triple's relation is empty, and problem()
  // says what is missing.
  bool unknown_relation() const { return unknown_relation_; }
  // True if the tail is a literal of N-Triples: a text, number or date, not a thing.
  bool tail_is_literal() const { return tail_is_literal_; }
  // True if the last item is the first line of a table, and nobody has said that it is no header.
  bool may_be_header() const { return may_have_header_ && num_lines_ == 1; }
  // Place of the last item: "train.txt:17".
  std::string Place() const;
  // Call after kEnd. Not OK if reading failed, the number of lines differs from the count in the first one, or,
  // with negated_as_false, some statements are negated and others are not.
  const absl::Status& status() const { return status_; }

  // kTriples for all tables whose relations are a column; kKgxEdges for edges.tsv, too.
  KgFormat format() const { return format_; }
  // True if options.table applies to the file.
  bool is_table() const { return is_table_; }
  const TableLayout& layout() const { return layout_; }
  // False if all weights are 1, since the file has none that table.weight_column could name.
  bool has_weights() const {
    return !options_.table.weight_column.empty() &&
           (is_table_ ? layout_.weight_column >= 0 : format_ == KgFormat::kKgxEdges);
  }
  const std::string& path() const { return lines_.path(); }
  // Fields of edges that qualify statements, but tell no relations apart: where first, by name.
  const std::map<std::string, Finding>& unused_qualifiers() const { return unused_qualifiers_; }
  // The negated statements that were read as the triples that they deny.
  const Finding& denied() const { return denied_; }
  // Returns a warning if a column that is not used holds 1 and -1 alone: sets for classification, such as those of WN11
  // and FB13, mark false statements so. "" if not. Call after kEnd.
  std::string DoubtOfSigns() const;
  // Returns triples from the beginning of a table of names or ids, which Next returns, too; {} for other formats.
  struct NamedTriple {
    std::string head, relation, tail;
  };
  std::vector<NamedTriple> Peek();

 private:
  TripleReader(LineReader lines, EdgeMap* edges, const TripleReaderOptions& options)
      : lines_(std::move(lines)), edges_(edges), options_(options) {}
  static absl::StatusOr<TripleReader> Start(LineReader lines, EdgeMap* edges, const TripleReaderOptions& options);
  absl::Status StartTable();
  absl::Status StartCounted();
  Item Malformed(std::string problem);
  Item ParseNames(absl::string_view line, TextTriple* triple);
  Item ParseRow(absl::string_view line, TextTriple* triple);
  Item ParseIds(absl::string_view line, TextTriple* triple);
  Item ParseEdge(absl::string_view line, TextTriple* triple);
  Item ParseNTriples(absl::string_view line, TextTriple* triple);
  absl::Status CheckWeights() const;
  // Sets the triple's weight. False if it is no IsTripleWeight; see problem_.
  bool TakeWeight(absl::string_view text, TextTriple* triple);
  Item TakeEdge(KgxEdgeParser::Outcome outcome, TextTriple* triple);
  Item TakeNames(absl::string_view line, TextTriple* triple);
  void CountDenied(bool negated) { (negated ? denied_ : affirmed_).Add(Place(), negated ? "negated" : "not negated"); }
  void NoteSigns(absl::Span<const absl::string_view> fields);
  // Says how many fields there are, and what would help if the line is the first.
  std::string WrongFields(absl::string_view line, size_t num_fields) const;

  LineReader lines_;
  EdgeMap* edges_;
  TripleReaderOptions options_;
  KgFormat format_ = KgFormat::kTriples;
  bool is_table_ = false;
  bool may_have_header_ = false;
  TableLayout layout_;
  bool is_plain_ = true;  // three fields with tabs between, which are found without a splitter
  std::optional<FieldSplitter> splitter_;
  std::optional<KgxEdgeParser> edge_parser_;
  int negated_column_ = -1;  // of a table of names
  // A column that is not used and whose fields so far are all 1 or -1.
  struct SignColumn {
    int column = 0;
    int64_t num_negative = 0;
    std::string first;  // place of the first -1
  };
  std::vector<SignColumn> sign_columns_;
  std::vector<int> qualifier_columns_;  // of a table of names
  std::map<std::string, Finding> unused_qualifiers_;
  Finding denied_, affirmed_;  // with negated_as_false: statements of a format that can negate
  NTriple n_triple_;
  std::string relation_;   // a relation that stands in no line
  int64_t count_ = -1;     // count in the first line of counted ids
  int64_t num_lines_ = 0;  // lines that are not blank, without the header
  bool unknown_relation_ = false;
  bool tail_is_literal_ = false;
  std::string problem_;
  absl::Status status_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_TRIPLE_READER_H_
