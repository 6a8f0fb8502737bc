// Reads triples from a text file one after another: TSV of names, OpenKE's counted ids, or KGX edges.

#ifndef RUTILE_LIB_GRAPH_TRIPLE_READER_H_
#define RUTILE_LIB_GRAPH_TRIPLE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/line_reader.h"
#include "lib/graph/edge_map.h"
#include "lib/graph/kg_format.h"

namespace rutile {

// A triple as text: names, or ids as digits (kCountedTriples). Valid until the next call of Next.
struct TextTriple {
  absl::string_view head, relation, tail;
};

// Reads a file of triples.
//
//   ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, &edges));
//   TripleReader::Item item;
//   while ((item = reader.Next(&triple)) != TripleReader::kEnd) ...
//   RETURN_IF_ERROR(reader.status());
//
// Lines are those of LineReader (CRLF, no last line end, gzip); blank lines are ignored. A field is all text between
// tabs, including spaces and leading zeros.
class TripleReader {
 public:
  enum Item { kTriple, kMalformed, kEnd };

  // Opens a file and recognizes its format by content; if that is impossible, lines are read as names. edges: names the
  // relations of KGX edges; must outlive the reader. Errors are those of LineReader::Open, and INVALID_ARGUMENT for a
  // file of another KgFormat (ids, nodes), which the message names.
  static absl::StatusOr<TripleReader> Open(absl::string_view path, EdgeMap* edges);
  // Reads from bytes in memory; `path` is for messages.
  static absl::StatusOr<TripleReader> FromBytes(absl::string_view path, std::string bytes, EdgeMap* edges);

  // Reads the next triple. kMalformed: the line is no triple, see problem().
  Item Next(TextTriple* triple);
  // What is wrong with the line and what was expected, without file and line.
  const std::string& problem() const { return problem_; }
  // True if the edge map, which does not grow, lacks the relation: then the triple's relation is empty, and problem()
  // says what is missing.
  bool unknown_relation() const { return unknown_relation_; }
  // Place of the last item: "train.txt:17".
  std::string Place() const;
  // Call after kEnd. Not OK if reading failed, or the number of lines differs from the count in the first one.
  const absl::Status& status() const { return status_; }

  KgFormat format() const { return format_; }
  const std::string& path() const { return lines_.path(); }

 private:
  TripleReader(LineReader lines, EdgeMap* edges) : lines_(std::move(lines)), edges_(edges) {}
  static absl::StatusOr<TripleReader> Start(LineReader lines, EdgeMap* edges);
  Item Malformed(std::string problem);
  Item ParseNames(absl::string_view line, TextTriple* triple);
  Item ParseIds(absl::string_view line, TextTriple* triple);
  Item ParseEdge(absl::string_view line, TextTriple* triple);

  LineReader lines_;
  EdgeMap* edges_;
  KgFormat format_ = KgFormat::kTriples;
  int64_t count_ = -1;     // count in the first line of counted ids
  int64_t num_lines_ = 0;  // lines that are not blank
  bool unknown_relation_ = false;
  std::string problem_;
  absl::Status status_;
  std::vector<std::string> fields_;  // fields of an edge: subject, object, then those of the edge map
  std::vector<std::string> values_;  // values of fields_
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLE_READER_H_
