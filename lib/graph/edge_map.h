// Relations of KGX edges: a predicate and its qualifiers together, named "predicate:0", "predicate:1" ...
//
// edge_map.json, as scripts for the ROBOKOP graph write it, is one object whose keys are themselves JSON:
//   {"{\"object_aspect_qualifier\": \"\", ..., \"predicate\": \"biolink:treats\", ...}": "predicate:0", ...}
// with keys sorted, and "" for a qualifier that the edge lacks.

#ifndef RUTILE_LIB_GRAPH_EDGE_MAP_H_
#define RUTILE_LIB_GRAPH_EDGE_MAP_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

class EdgeMap {
 public:
  // One that grows: an edge that is new gets the next number. Its fields are the predicate and the aspect and direction
  // qualifiers of subject and object.
  EdgeMap();
  // A given one, which does not grow. Its fields are those that any of its keys names; the order of a key's fields, its
  // spaces, and fields with "" do not count. INVALID_ARGUMENT: no JSON object of that form, a key that comes twice, a
  // name that is empty or holds a tab or a line end.
  static absl::StatusOr<EdgeMap> Read(absl::string_view path);
  static absl::StatusOr<EdgeMap> Parse(absl::string_view json, absl::string_view path);

  // What makes a relation, sorted.
  const std::vector<std::string>& fields() const { return fields_; }
  // values: of the fields, "" for none. The relation's name, valid until the next call; "" when the map is a given one
  // and has none.
  absl::string_view Find(absl::Span<const std::string> values);
  // "predicate=biolink:affects object_aspect_qualifier=activity": for messages.
  std::string Describe(absl::Span<const std::string> values) const;

  bool grows() const { return grows_; }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  // "biolink:affects (object_aspect activity, object_direction increased)", by relation's name; of several with one
  // name, the first.
  absl::flat_hash_map<std::string, std::string> Labels() const;
  // The file, entries in the order in which they were read or found, with a line end.
  std::string ToJson() const;

 private:
  struct Entry {
    std::vector<std::string> values;  // of fields_
    std::string name;
  };

  bool grows_ = true;
  std::vector<std::string> fields_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t> index_;  // values, each ended by \0, to entry
  std::string key_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_EDGE_MAP_H_
