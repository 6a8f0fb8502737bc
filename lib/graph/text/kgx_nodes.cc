#include "lib/graph/text/kgx_nodes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/line_reader.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/graph/text/json_line.h"
#include "lib/graph/text/shown_text.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// Columns of nodes.tsv; -1 for one that it lacks.
struct Columns {
  int id = -1, name = -1;
  size_t count = 0;
};

Columns FindColumns(absl::string_view header) {
  Columns columns;
  for (const absl::string_view title : absl::StrSplit(header, '\t')) {
    const absl::string_view plain = absl::StripPrefix(title, "#");
    if (plain == "id") columns.id = static_cast<int>(columns.count);
    if (plain == "name") columns.name = static_cast<int>(columns.count);
    ++columns.count;
  }
  return columns;
}

// Sets values to the id and the name of a row.
absl::Status ParseRow(absl::string_view line, const Columns& columns, std::vector<std::string>* values) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  if (fields.size() != columns.count) {
    return absl::InvalidArgumentError(absl::StrCat(fields.size(), " fields in ", ShownText(line), ", expected ",
                                                   columns.count, " as in the first line"));
  }
  values->assign({std::string(fields[columns.id]), columns.name < 0 ? "" : std::string(fields[columns.name])});
  for (const std::string& value : *values) {
    if (!IsUtf8(value)) return absl::InvalidArgumentError("text that is not UTF-8, expected names in UTF-8");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadKgxNodes(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          std::vector<std::string>* labels, Finding* malformed) {
  CHECK(static_cast<int64_t>(labels->size()) == entities.size());
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  const std::vector<std::string> fields = {"id", "name"};
  std::vector<std::string> values;
  std::vector<bool> done(labels->size(), false);
  Columns columns;  // of nodes.tsv; without an id for JSON
  bool is_first = true;
  for (absl::string_view line; lines.Next(&line);) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (is_first && line[0] != '{') {
      columns = FindColumns(line);
      is_first = false;
      if (columns.id >= 0) continue;
    }
    is_first = false;
    absl::Status parsed = columns.id >= 0 ? ParseRow(line, columns, &values) : ParseJsonTexts(line, fields, &values);
    if (parsed.ok() && values[0].empty()) parsed = absl::InvalidArgumentError("a node without \"id\"");
    if (!parsed.ok()) {
      const std::string place = absl::StrCat(lines.path(), ":", lines.line_number());
      if (on_malformed == Handling::kRefuse) {
        return absl::InvalidArgumentError(absl::StrCat(place, ": ", parsed.message()));
      }
      malformed->Add(place, parsed.message());
      continue;
    }
    const int32_t id = entities.Find(values[0]);
    if (id == Vocabulary::kUnknown || done[id] || values[1].empty()) continue;
    std::replace_if(
        values[1].begin(), values[1].end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    (*labels)[id] = values[1];
    done[id] = true;
  }
  return lines.status();
}

}  // namespace rutile
