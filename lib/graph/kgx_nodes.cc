#include "lib/graph/kgx_nodes.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/base/line_reader.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/graph/json_line.h"

namespace rutile {

absl::Status ReadKgxNodes(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          std::vector<std::string>* labels, Finding* malformed) {
  CHECK(static_cast<int64_t>(labels->size()) == entities.size());
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  const std::vector<std::string> fields = {"id", "name"};
  std::vector<std::string> values;
  std::vector<bool> done(labels->size(), false);
  for (absl::string_view line; lines.Next(&line);) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    absl::Status parsed = ParseJsonTexts(line, fields, &values);
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
