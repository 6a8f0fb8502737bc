#include "lib/kg/link_queries.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/line_reader.h"
#include "lib/base/status_macros.h"
#include "lib/profile/scope.h"

namespace rutile {
namespace {

constexpr int32_t kSeveral = -1;

// Ids by name, and by label where that is no name.
class Names {
 public:
  Names(absl::string_view what, const std::vector<std::string>& names, const std::vector<std::string>& labels)
      : what_(what) {
    for (size_t i = 0; i < names.size(); ++i) ids_.emplace(names[i], static_cast<int32_t>(i));
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto [at, is_new] = labels_.emplace(labels[i], static_cast<int32_t>(i));
      if (!is_new) at->second = kSeveral;
    }
  }

  absl::StatusOr<int32_t> Find(absl::string_view name) const {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    const auto labelled = labels_.find(name);
    if (labelled == labels_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("no ", what_, " is called \"", name, "\""));
    }
    if (labelled->second == kSeveral) {
      return absl::InvalidArgumentError(absl::StrCat("several ", what_ == "entity" ? "entities" : "relations",
                                                     " have the label \"", name, "\": give the name"));
    }
    return labelled->second;
  }

 private:
  const absl::string_view what_;
  absl::flat_hash_map<absl::string_view, int32_t> ids_, labels_;
};

absl::StatusOr<LinkQuery> ParseQuery(absl::string_view line, const Names& entities, const Names& relations) {
  const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  if (columns.size() != 3 && columns.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(columns.size(), columns.size() == 1 ? " column" : " columns",
                     ", expected head, relation and ? (or ?, relation and tail), separated by tabs"));
  }
  LinkQuery query;
  query.for_head = columns[0] == "?";
  if (query.for_head == (columns.size() == 2 || columns[2] == "?")) {
    return absl::InvalidArgumentError("expected one question mark, in the place of the head or of the tail");
  }
  ASSIGN_OR_RETURN(query.entity, entities.Find(columns[query.for_head ? 2 : 0]));
  ASSIGN_OR_RETURN(query.relation, relations.Find(columns[1]));
  return query;
}

}  // namespace

absl::StatusOr<std::vector<LinkQuery>> ReadLinkQueries(absl::string_view path, const KnowledgeGraph& names) {
  const ProfileScope scope(Stage::kRead);
  const Names entities("entity", names.entities, names.entity_labels);
  const Names relations("relation", names.relations, names.relation_labels);
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  std::vector<LinkQuery> queries;
  absl::string_view line;
  while (reader.Next(&line)) {
    if (line.empty()) continue;
    const absl::StatusOr<LinkQuery> query = ParseQuery(line, entities, relations);
    if (!query.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(reader.path(), ":", reader.line_number(), ": ", query.status().message()));
    }
    queries.push_back(*query);
  }
  RETURN_IF_ERROR(reader.status());
  if (queries.empty()) return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": no queries in it"));
  return queries;
}

}  // namespace rutile
