#include "lib/graph/text/formats/kgx_nodes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/formats/json_line.h"
#include "lib/graph/text/shown_text.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// Columns of nodes.tsv; -1 for one that it lacks.
struct Columns {
  int id = -1, name = -1, category = -1;
  size_t count = 0;
};

Columns FindColumns(absl::string_view header) {
  Columns columns;
  for (const absl::string_view title : absl::StrSplit(header, '\t')) {
    const absl::string_view plain = absl::StripPrefix(title, "#");
    if (plain == "id") columns.id = static_cast<int>(columns.count);
    if (plain == "name") columns.name = static_cast<int>(columns.count);
    if (plain == "category") columns.category = static_cast<int>(columns.count);
    ++columns.count;
  }
  return columns;
}

// One line.
struct Node {
  std::string id, name;
  std::vector<std::string> categories;
};

absl::Status ParseRow(absl::string_view line, const Columns& columns, Node* node) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  if (fields.size() != columns.count) {
    return absl::InvalidArgumentError(absl::StrCat(fields.size(), " fields in ", ShownText(line), ", expected ",
                                                   columns.count, " as in the first line"));
  }
  const auto field = [&](int column) { return column < 0 ? "" : std::string(fields[column]); };
  node->id = field(columns.id);
  node->name = field(columns.name);
  node->categories = absl::StrSplit(field(columns.category), '|');
  for (const std::string& value : {node->id, node->name, field(columns.category)}) {
    if (!IsUtf8(value)) return absl::InvalidArgumentError("text that is not UTF-8, expected names in UTF-8");
  }
  return absl::OkStatus();
}

absl::Status ParseObject(absl::string_view line, Node* node) {
  static const std::vector<std::string>& fields = *new std::vector<std::string>{"id", "name"};
  std::vector<std::string> values;
  std::vector<JsonField> others;
  RETURN_IF_ERROR(ParseJsonTexts(
      line, fields, [](absl::string_view name) { return name == "category"; }, &values, &others));
  node->id = values[0];
  node->name = values[1];
  node->categories.clear();
  if (others.empty()) return absl::OkStatus();
  const JsonField& category = others[0];
  if (category.is_nested && !category.is_list_of_texts) {
    return absl::InvalidArgumentError("\"category\" is neither a text nor a list of texts");
  }
  node->categories = category.is_nested ? category.texts : absl::StrSplit(category.value, '|');
  return absl::OkStatus();
}

// Makes tabs and line ends spaces.
void MakeOneLine(std::string* text) {
  std::replace_if(
      text->begin(), text->end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
}

}  // namespace

absl::Status ReadKgxNodes(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          std::vector<std::string>* labels, EntityTypesBuilder* types, Finding* malformed) {
  CHECK(static_cast<int64_t>(labels->size()) == entities.size());
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  Node node;
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
    absl::Status parsed = columns.id >= 0 ? ParseRow(line, columns, &node) : ParseObject(line, &node);
    if (parsed.ok() && node.id.empty()) parsed = absl::InvalidArgumentError("a node without \"id\"");
    if (!parsed.ok()) {
      const std::string place = absl::StrCat(lines.path(), ":", lines.line_number());
      if (on_malformed == Handling::kRefuse) {
        return absl::InvalidArgumentError(absl::StrCat(place, ": ", parsed.message()));
      }
      malformed->Add(place, parsed.message());
      continue;
    }
    const int32_t id = entities.Find(node.id);
    if (id == Vocabulary::kUnknown) continue;
    for (std::string& category : node.categories) {
      MakeOneLine(&category);
      if (!absl::StripAsciiWhitespace(category).empty()) types->Add(id, absl::StripAsciiWhitespace(category));
    }
    if (done[id] || node.name.empty()) continue;
    MakeOneLine(&node.name);
    (*labels)[id] = node.name;
    done[id] = true;
  }
  return lines.status();
}

}  // namespace rutile
