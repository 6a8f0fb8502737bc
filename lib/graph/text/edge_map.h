// Names the relations of KGX edges. A predicate and its qualifiers together are a relation, named "predicate:0",
// "predicate:1" ...
//
// edge_map.json, as scripts for the ROBOKOP graph write it, is one object whose keys are themselves JSON, with sorted
// keys, and "" for a qualifier that the edge lacks:
//   {"{\"object_aspect_qualifier\": \"\", ..., \"predicate\": \"biolink:treats\", ...}": "predicate:0", ...}
// A key may also name "negated", as true or "True" for statements that are denied.

#ifndef RUTILE_LIB_GRAPH_TEXT_EDGE_MAP_H_
#define RUTILE_LIB_GRAPH_TEXT_EDGE_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// A map from the fields of an edge to the name of its relation.
class EdgeMap {
 public:
  // Makes a growing map: an edge with new values gets the next number. The fields are the predicate, the aspect and
  // direction qualifiers of subject and object, and those that AddField adds.
  EdgeMap();
  // Reads a map that does not grow. Its fields are those that any of its keys names; the order of a key's fields, its
  // spaces, and fields with "" do not matter. INVALID_ARGUMENT: no JSON object of that form, a repeated key, a name
  // that is empty or contains a tab or a line end.
  static absl::StatusOr<EdgeMap> Read(absl::string_view path);
  static absl::StatusOr<EdgeMap> Parse(absl::string_view json, absl::string_view path);

  // The fields that determine a relation: sorted, and then those that were added.
  const std::vector<std::string>& fields() const { return fields_; }
  // Returns the position of a field in fields(), or -1.
  int FieldIndex(absl::string_view name) const;
  // Adds a field, which all entries so far lack, and returns its position. CHECK-fails for a map that does not grow.
  int AddField(absl::string_view name);
  // Returns the number of different values of the field, "" not counted.
  int64_t NumValues(int field) const;
  // Returns the name of the relation with these values of fields() ("" for none), valid until the next call; "" if a
  // map that does not grow has no such relation.
  absl::string_view Find(absl::Span<const std::string> values);
  // Describes values for messages: "predicate=biolink:affects object_aspect_qualifier=activity".
  std::string Describe(absl::Span<const std::string> values) const;

  bool grows() const { return grows_; }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  // Returns labels by relation name: "biolink:affects (object_aspect activity, object_direction increased)", and
  // "biolink:treats (negated)". If several entries have one name, the first counts.
  absl::flat_hash_map<std::string, std::string> Labels() const;
  // Returns the label of one relation; "" if no entry has that name.
  std::string LabelOf(absl::string_view name) const;
  // Returns the text of edge_map.json, entries in the order in which they were read or found, with a line end. Every
  // key has all fields, sorted.
  std::string ToJson() const;

 private:
  struct Entry {
    std::vector<std::string> values;  // in the order of fields_; shorter if fields were added later
    std::string name;
  };

  std::string Label(const Entry& entry, const std::vector<int>& order) const;
  // Returns the positions of fields, sorted by name.
  std::vector<int> SortedFields() const;
  static absl::string_view Value(const Entry& entry, int field);

  bool grows_ = true;
  std::vector<std::string> fields_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t>
      index_;  // index of the entry by its values, each ended by \0; none for "" at the end
  std::string key_;
};

// The field of an edge that names its relation, and the one that denies its statement, in KGX.
inline constexpr char kPredicate[] = "predicate";
inline constexpr char kNegatedField[] = "negated";

// True for text without tabs and line ends, so that a line of a table can hold it.
bool IsFlat(absl::string_view text);

// Sets `negated` to the truth value of a text such as "True", "false" or ""; false for another text.
bool ParseNegated(absl::string_view text, bool* negated);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_EDGE_MAP_H_
