#include "lib/graph/text/formats/type_file.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/shown_text.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// Returns what is wrong with a line; "" if nothing is.
std::string Problem(absl::string_view line, const std::vector<absl::string_view>& fields) {
  constexpr char kExpected[] = ", expected entity TAB type, or several types with tabs between";
  if (!IsUtf8(line)) return absl::StrCat("text that is not UTF-8", kExpected);
  if (fields.size() < 2) return absl::StrCat("no type in ", ShownText(line), kExpected);
  const bool has_empty = std::any_of(fields.begin(), fields.end(), [](absl::string_view f) { return f.empty(); });
  return has_empty ? absl::StrCat("an empty field in ", ShownText(line), kExpected) : "";
}

}  // namespace

absl::Status ReadTypeFile(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          EntityTypesBuilder* types, Finding* malformed, Finding* unknown) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  int64_t known = 0;
  for (absl::string_view line; lines.Next(&line);) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string place = absl::StrCat(lines.path(), ":", lines.line_number());
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    if (const std::string problem = Problem(line, fields); !problem.empty()) {
      if (on_malformed == Handling::kRefuse) return absl::InvalidArgumentError(absl::StrCat(place, ": ", problem));
      malformed->Add(place, problem);
      continue;
    }
    const int32_t entity = entities.Find(fields[0]);
    if (entity == Vocabulary::kUnknown) {
      unknown->Add(place, JsonQuote(fields[0]));
      continue;
    }
    ++known;
    for (size_t i = 1; i < fields.size(); ++i) types->Add(entity, fields[i]);
  }
  RETURN_IF_ERROR(lines.status());
  if (known > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": names no entity of the graph",
      unknown->count > 0 ? absl::StrCat("; the first of ", unknown->count, " that it names is ", unknown->first) : "",
      "; expected entity TAB type, with the names that the triples have"));
}

}  // namespace rutile
