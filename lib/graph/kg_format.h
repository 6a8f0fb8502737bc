// Which of the files of a knowledge graph a text is, told by its first lines.

#ifndef RUTILE_LIB_GRAPH_KG_FORMAT_H_
#define RUTILE_LIB_GRAPH_KG_FORMAT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

enum class KgFormat {
  kOther,           // nothing of these
  kTriples,         // head TAB relation TAB tail, names
  kCountedTriples,  // OpenKE's train2id.txt: a number of lines, then ids "head tail relation"
  kIds,       // name TAB index, or index TAB name; perhaps with the number of lines first (OpenKE's entity2id.txt)
  kKgxEdges,  // KGX: a JSON object in each line, with "subject", "predicate", "object"
  kKgxNodes,  // KGX: a JSON object in each line, with "id" and "name"
  kEdgeMap,   // one JSON object: {"<JSON text of a predicate with qualifiers>": "predicate:0", ...}
};

// As much of a file's beginning as DetectKgFormat wants to see.
inline constexpr size_t kKgPrefix = 1 << 16;

// beginning: the file's first bytes, kKgPrefix or all there are. Blank lines do not count; up to three others are
// looked at. Files of structures are kOther: those that begin with a number (extended XYZ) differ in the second or
// third line.
KgFormat DetectKgFormat(absl::string_view beginning);

// Of a file, gzip or not. kOther for "-" and for pipes, which cannot be looked at and read as well.
absl::StatusOr<KgFormat> DetectKgFormatOfFile(absl::string_view path);

// Digits alone, at least one.
bool IsCount(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KG_FORMAT_H_
