#include "lib/graph/link_queries.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/name_ids.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

absl::StatusOr<LinkQuery> ParseQuery(absl::string_view line, const NameIds& entities, const NameIds& relations) {
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
  const NameIds entities("entity", names.entities, names.entity_labels);
  const NameIds relations("relation", names.relations, names.relation_labels);
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
