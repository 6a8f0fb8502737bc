// Files that give names their ids.
//
//   name TAB index        TiePin's node_dict.txt and rel_dict.txt, PyKEEN's entity_to_id
//   index TAB name        DeepGraphLearning's entities.dict
//   a count, then either  OpenKE's entity2id.txt and relation2id.txt (there a space will do for the tab)
//
// Which one it is is told by the content: the column that holds numbers alone is the index. Where both do, it is the
// one that holds 0 .. n - 1, and the second if both do. A first line "id TAB label" or "label TAB id" is skipped.

#ifndef RUTILE_LIB_GRAPH_ID_FILE_H_
#define RUTILE_LIB_GRAPH_ID_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

struct IdFile {
  std::vector<std::string> names;  // by id
  bool counted = false;
  bool reversed = false;  // index TAB name
  // "entity2id.txt: 14541 names, a count and then name and index (as OpenKE writes)": for the report.
  std::string Describe(absl::string_view path) const;
};

// Every index 0 .. n - 1 once, every name once. Otherwise INVALID_ARGUMENT with file:line: not two fields, no index, an
// index out of range, used twice or left out (which one), a name twice or empty, text that is not UTF-8, a count that
// is wrong; an empty file.
absl::StatusOr<IdFile> ReadIdFile(absl::string_view path);
// The same for bytes in memory; `path` is for messages.
absl::StatusOr<IdFile> ParseIdFile(absl::string_view path, std::string bytes);

// The same form with names for people (TiePin's node_name_dict.txt): names may come twice, hold tabs and be missing (""
// then); an index is below num_ids and comes once.
absl::StatusOr<IdFile> ReadLabelFile(absl::string_view path, int64_t num_ids);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_ID_FILE_H_
