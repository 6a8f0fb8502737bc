#include "lib/graph/text/formats/kg_format.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/formats/n_triples.h"

namespace rutile {
namespace {

constexpr size_t kLines = 3;

std::vector<absl::string_view> FirstLines(absl::string_view text) {
  std::vector<absl::string_view> lines;
  while (!text.empty() && lines.size() < kLines) {
    const size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view line = absl::StripSuffix(text.substr(0, end), "\r");
    if (!absl::StripAsciiWhitespace(line).empty()) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// True if the first line that is no comment is a statement of N-Triples.
bool IsNTriples(absl::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
    if (!line.empty() && !IsNTriplesComment(line)) return IsNTriplesLine(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

bool Has(const std::vector<absl::string_view>& fields, absl::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](absl::string_view field) { return absl::StripPrefix(field, "#") == name; });
}

// True for lines with the same number of fields, three or more, with commas between, none of them empty or with a blank
// in it. Comments of structures are sentences, or differ from the next lines.
bool IsCommaTable(const std::vector<absl::string_view>& lines) {
  size_t common = 0;
  for (const absl::string_view line : lines) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    if (fields.size() < 3 || (common != 0 && fields.size() != common)) return false;
    common = fields.size();
    for (const absl::string_view field : fields) {
      if (field.empty() || field.find_first_of(" \t=") != absl::string_view::npos) return false;
    }
  }
  return common > 0;
}

KgFormat OfCountedLine(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() == 3 && std::all_of(words.begin(), words.end(), IsCount)) return KgFormat::kCountedTriples;
  // Names may contain spaces if a tab follows them.
  const char* const separator = absl::StrContains(line, '\t') ? "\t" : " ";
  const std::vector<absl::string_view> fields = absl::StrSplit(line, separator);
  return fields.size() == 2 && (IsCount(fields[0]) || IsCount(fields[1])) ? KgFormat::kIds : KgFormat::kOther;
}

}  // namespace

bool IsCount(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

KgFormat DetectKgFormat(absl::string_view beginning) {
  beginning = beginning.substr(0, kKgPrefix);
  // A tensor file begins with the length of its header, whose first byte may be that of "{".
  if (absl::StrContains(beginning, absl::string_view("\0", 1))) return KgFormat::kOther;
  const std::vector<absl::string_view> lines = FirstLines(beginning);
  if (lines.empty()) return KgFormat::kOther;
  if (lines[0][0] == '{') {
    if (absl::StrContains(lines[0], "\"subject\"")) return KgFormat::kKgxEdges;
    if (absl::StrContains(lines[0], "\"id\"")) return KgFormat::kKgxNodes;
    return KgFormat::kEdgeMap;
  }
  if (IsCount(absl::StripAsciiWhitespace(lines[0]))) {
    if (lines.size() < 2) return KgFormat::kOther;
    const KgFormat format = OfCountedLine(lines[1]);
    return lines.size() == 2 || OfCountedLine(lines[2]) == format ? format : KgFormat::kOther;
  }
  if (IsNTriples(beginning)) return KgFormat::kNTriples;
  const std::vector<absl::string_view> fields = absl::StrSplit(lines[0], '\t');
  if (fields.size() >= 3 && Has(fields, "subject") && Has(fields, "predicate") && Has(fields, "object")) {
    return fields.size() == 3 ? KgFormat::kTriples : KgFormat::kTable;
  }
  if (fields.size() >= 2 && Has(fields, "id") && (Has(fields, "name") || Has(fields, "category"))) {
    return KgFormat::kKgxNodes;
  }
  if (fields.size() == 1) return IsCommaTable(lines) ? KgFormat::kTable : KgFormat::kOther;
  for (const absl::string_view field : fields) {
    if (field.empty()) return KgFormat::kOther;
  }
  if (fields.size() == 3) return KgFormat::kTriples;
  if (fields.size() == 2 && (IsCount(fields[0]) || IsCount(fields[1]))) return KgFormat::kIds;
  return KgFormat::kOther;
}

absl::StatusOr<KgFormat> DetectKgFormatOfFile(absl::string_view path) {
  struct stat info;
  const bool is_found = ::stat(std::string(path).c_str(), &info) == 0;
  if (path == "-" || (is_found && !S_ISREG(info.st_mode))) return KgFormat::kOther;
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  const KgFormat format = DetectKgFormat(reader.Prefix(kKgPrefix));
  RETURN_IF_ERROR(reader.status());
  return format;
}

}  // namespace rutile
