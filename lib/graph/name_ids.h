// Finds ids of entities or relations by name, or by label if only one has it.

#ifndef RUTILE_LIB_GRAPH_NAME_IDS_H_
#define RUTILE_LIB_GRAPH_NAME_IDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// An index of names and labels.
class NameIds {
 public:
  // what: "entity" or "relation", for messages. labels: may be empty. All arguments must outlive this object.
  NameIds(absl::string_view what, const std::vector<std::string>& names, const std::vector<std::string>& labels);

  // Returns the id of a name or else of a label. INVALID_ARGUMENT: the text is neither, or a label of several.
  absl::StatusOr<int32_t> Find(absl::string_view name) const;
  // True for a name or a label, even one of several.
  bool Has(absl::string_view name) const { return ids_.contains(name) || labels_.contains(name); }

 private:
  const absl::string_view what_;
  absl::flat_hash_map<absl::string_view, int32_t> ids_, labels_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NAME_IDS_H_
