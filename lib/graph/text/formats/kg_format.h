// Recognizes the format of a knowledge graph's file by its first lines.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_KG_FORMAT_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_KG_FORMAT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Formats of text files about knowledge graphs.
enum class KgFormat {
  kOther,           // none of the following
  kTriples,         // head TAB relation TAB tail, names
  kTable,           // another table that may hold triples: KGX's edges.tsv, or three or more fields with commas between
  kNTriples,        // RDF as N-Triples or N-Quads: <subject> <predicate> <object> .
  kCountedTriples,  // OpenKE's train2id.txt: a number of lines, then ids "head tail relation"
  kIds,       // name TAB index, or index TAB name; perhaps with the number of lines first (OpenKE's entity2id.txt)
  kKgxEdges,  // KGX: a JSON object in each line, with "subject", "predicate", "object"
  kKgxNodes,  // KGX: a JSON object in each line, with "id" and "name"; or nodes.tsv, whose header names both
  kEdgeMap,   // one JSON object: {"<JSON text of a predicate with qualifiers>": "predicate:0", ...}
};

// Number of bytes that DetectKgFormat needs.
inline constexpr size_t kKgPrefix = 1 << 16;

// Recognizes the format. beginning: the file's first kKgPrefix bytes, or all of them. Blank lines are ignored, and so
// are comments of N-Triples; up to three others are examined. Files of structures are kOther: those that begin with a
// number (extended XYZ) differ in the second or third line.
KgFormat DetectKgFormat(absl::string_view beginning);

// Recognizes the format of a file, gzip or not. kOther for "-" and for pipes, which cannot be examined and then read
// again.
absl::StatusOr<KgFormat> DetectKgFormatOfFile(absl::string_view path);

// True if the text consists of digits, at least one.
bool IsCount(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_KG_FORMAT_H_
