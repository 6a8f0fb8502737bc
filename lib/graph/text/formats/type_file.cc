#include "lib/graph/text/formats/type_file.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/formats/table_layout.h"
#include "lib/graph/text/shown_text.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kLookedAt = 1 << 16;  // bytes
// Tried in this order, with what they are called, if the beginning has no tab.
constexpr std::pair<char, const char*> kSeparators[] = {{',', "commas"}, {';', "semicolons"}, {'|', "bars"}};

// Returns what gives all lines of the beginning two fields or more, if none of them has a tab; else the tab.
std::pair<char, const char*> FindSeparator(absl::string_view beginning) {
  constexpr std::pair<char, const char*> kTab = {'\t', "tabs"};
  if (absl::StrContains(beginning, '\t')) return kTab;
  if (beginning.size() >= kLookedAt) beginning = beginning.substr(0, beginning.rfind('\n'));  // the rest may be cut off
  std::vector<absl::string_view> lines = absl::StrSplit(beginning, '\n', absl::SkipWhitespace());
  for (const auto& separator : kSeparators) {
    FieldSplitter splitter(absl::string_view(&separator.first, 1), /*quoted=*/true);
    const auto is_cut = [&](absl::string_view line) {
      return splitter.Split(absl::StripSuffix(line, "\r")) && splitter.fields().size() >= 2;
    };
    if (!lines.empty() && std::all_of(lines.begin(), lines.end(), is_cut)) return separator;
  }
  return kTab;
}

// Returns what is wrong with a line; "" if nothing is.
std::string Problem(absl::string_view line, const std::vector<absl::string_view>& fields) {
  constexpr char kExpected[] = ", expected entity TAB type, or several types with tabs between; or CSV in all lines";
  if (!IsUtf8(line)) return absl::StrCat("text that is not UTF-8", kExpected);
  if (fields.size() < 2) return absl::StrCat("no type in ", ShownText(line), kExpected);
  const bool has_empty = std::any_of(fields.begin(), fields.end(), [](absl::string_view f) { return f.empty(); });
  return has_empty ? absl::StrCat("an empty field in ", ShownText(line), kExpected) : "";
}

}  // namespace

absl::Status ReadTypeFile(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          EntityTypesBuilder* types, Finding* malformed, Finding* unknown,
                          std::vector<std::string>* formats) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  const auto [separator, plural] = FindSeparator(lines.Prefix(kLookedAt).substr(0, kLookedAt));
  const bool is_csv = separator != '\t';
  if (is_csv) formats->push_back(absl::StrCat(lines.path(), ": types, with ", plural, " between fields"));
  FieldSplitter splitter(absl::string_view(&separator, 1), is_csv);
  int64_t known = 0;
  for (absl::string_view line; lines.Next(&line);) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string place = absl::StrCat(lines.path(), ":", lines.line_number());
    const bool is_cut = splitter.Split(line);
    const std::vector<absl::string_view>& fields = splitter.fields();
    const std::string problem =
        is_cut ? Problem(line, fields) : absl::StrCat("a quotation mark without its other in ", ShownText(line));
    if (!problem.empty()) {
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
