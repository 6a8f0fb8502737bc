// Triples of a text file, one after another: TSV of names, OpenKE's counted ids, or KGX edges.

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

// Names, or ids as digits (kCountedTriples). Valid until the next call of Next.
struct TextTriple {
  absl::string_view head, relation, tail;
};

//   while ((item = reader.Next(&triple)) != TripleReader::kEnd) ...
//   RETURN_IF_ERROR(reader.status());
//
// Lines as LineReader takes them (CRLF, no last line end, gzip); blank lines do not count. A field is whatever is
// between tabs, spaces and zeros in front included.
class TripleReader {
 public:
  enum Item { kTriple, kMalformed, kEnd };

  // The format is told by the content, and what cannot be told is taken for names. edges: names the relations of KGX
  // edges; outlives the reader. As LineReader::Open; INVALID_ARGUMENT for a file of another of KgFormat's kinds (ids,
  // nodes), which says what it is.
  static absl::StatusOr<TripleReader> Open(absl::string_view path, EdgeMap* edges);
  // The same for bytes in memory.
  static absl::StatusOr<TripleReader> FromBytes(absl::string_view path, std::string bytes, EdgeMap* edges);

  // kMalformed: the line is no triple, see problem().
  Item Next(TextTriple* triple);
  // What is wrong with the line and what was expected, without the place.
  const std::string& problem() const { return problem_; }
  // Not in the edge map, which does not grow: the triple's relation is empty, and problem() says what it lacks.
  bool unknown_relation() const { return unknown_relation_; }
  // "train.txt:17", of the last item.
  std::string Place() const;
  // After kEnd. Not OK: reading failed, or there are not as many lines as the count in the first one says.
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
  int64_t count_ = -1;     // as the first line of counted ids says
  int64_t num_lines_ = 0;  // that are not blank
  bool unknown_relation_ = false;
  std::string problem_;
  absl::Status status_;
  std::vector<std::string> fields_;  // of an edge: subject, object, then the edge map's
  std::vector<std::string> values_;  // likewise
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLE_READER_H_
