#include "lib/graph/text/build_graph_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace rutile {

absl::Status CheckBuildGraphOptions(const BuildGraphOptions& options) {
  if (options.train.empty()) return absl::InvalidArgumentError("train: no file, expected triples to learn from");
  for (const auto& [name, handling] :
       {std::make_pair("malformed", options.malformed), std::make_pair("unknown_names", options.unknown_names),
        std::make_pair("duplicates", options.duplicates)}) {
    if (handling == Handling::kKeep) {
      return absl::InvalidArgumentError(absl::StrCat(name, " cannot be kept, expected to refuse or to drop them"));
    }
  }
  if (!options.node_name_dict.empty() && options.entity_to_id.empty()) {
    return absl::InvalidArgumentError(
        "--node_name_dict needs --entity_to_id: its indices are those of a file, not of the names' first appearance");
  }
  if (!options.node_name_dict.empty() && !options.nodes.empty()) {
    return absl::InvalidArgumentError("--node_name_dict and --nodes: both give names for people, expected one");
  }
  if (options.sort_names && !options.entity_to_id.empty() && !options.relation_to_id.empty()) {
    return absl::InvalidArgumentError(
        "sorted names where --entity_to_id and --relation_to_id give all ids: leave one out");
  }
  if (options.content == TripleContent::kIds && options.entity_to_id.empty() && options.relation_to_id.empty()) {
    return absl::InvalidArgumentError(
        "--triples_hold=ids needs --entity_to_id and --relation_to_id, which say what the ids are");
  }
  if (!options.edge_map.empty() && options.qualifiers.has_value()) {
    return absl::InvalidArgumentError("--qualifiers and --edge_map: both say what tells relations apart, expected one");
  }
  if (!options.edge_map.empty() && options.negated == Handling::kKeep) {
    return absl::InvalidArgumentError(
        "--negated=relation beside --edge_map: the map names the relations; give it keys with \"negated\": true "
        "instead");
  }
  if (options.split.validation_fraction > 0 && !options.valid.empty()) {
    return absl::InvalidArgumentError(
        "--split has a share for validation beside --valid, a file of it: expected one of them");
  }
  if (options.split.test_fraction > 0 && !options.test.empty()) {
    return absl::InvalidArgumentError(
        "--split has a share for tests beside --test, a file of them: expected one of them");
  }
  RETURN_IF_ERROR(CheckGraphSplitOptions(options.split));
  return CheckTableOptions(options.table);
}

}  // namespace rutile
