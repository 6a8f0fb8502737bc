// Reads files that give names their ids:
//
//   name TAB index        TiePin's node_dict.txt and rel_dict.txt, PyKEEN's entity_to_id
//   index TAB name        DeepGraphLearning's entities.dict
//   a count, then either  OpenKE's entity2id.txt and relation2id.txt (there a space will do for the tab)
//
// The format is recognized by content: the column that contains only numbers is the index. If both do, the index is the
// column that contains 0 .. n - 1, and the second if both do. A first line "id TAB label" or "label TAB id" is skipped.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_ID_FILE_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_ID_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A file of ids as read.
struct IdFile {
  std::vector<std::string> names;  // by id
  bool counted = false;
  bool reversed = false;  // true if the index comes before the name
  // Describes the file for the report: "entity2id.txt: 14541 names, a count and then name and index (as OpenKE
  // writes)".
  std::string Describe(absl::string_view path) const;
};

// Reads a file in which every index 0 .. n - 1 and every name comes once. Otherwise INVALID_ARGUMENT with file:line:
// not two fields, no index, an index out of range, used twice or left out (the message names it), a name twice or
// empty, text that is not UTF-8, a wrong count; an empty file.
absl::StatusOr<IdFile> ReadIdFile(absl::string_view path);
// Parses bytes in memory; `path` is for messages.
absl::StatusOr<IdFile> ParseIdFile(absl::string_view path, std::string bytes);

// Reads a file of the same form with labels (TiePin's node_name_dict.txt): labels may be repeated, contain tabs and be
// missing (then ""); an index is below num_ids and comes once.
absl::StatusOr<IdFile> ReadLabelFile(absl::string_view path, int64_t num_ids);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_ID_FILE_H_
