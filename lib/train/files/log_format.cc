#include "lib/train/files/log_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

absl::string_view BareName(absl::string_view column) { return column.substr(0, column.find('[')); }

absl::string_view Unit(absl::string_view column) {
  const size_t open = column.find('[');
  return open == absl::string_view::npos ? "" : column.substr(open + 1, column.size() - open - 2);
}

std::string Quoted(absl::string_view text) {
  // Names of columns are mostly plain ASCII and written in every row: skip escaping for them.
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; })) {
    return absl::StrCat("\"", text, "\"");
  }
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return absl::StrCat(static_cast<int64_t>(value));
  // Formats like "%.9g".
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 9).ptr);
}

absl::Status NoStep(absl::string_view found) {
  return absl::FailedPreconditionError(
      absl::StrCat("found \"", found.substr(0, 40), "\" in column step, expected a number"));
}

absl::Status NoRow(absl::string_view line) {
  return absl::FailedPreconditionError(
      absl::StrCat("found the row \"", line.substr(0, 40), "\", expected a value for each column; it is damaged"));
}

absl::Status NoColumn(absl::string_view name, absl::string_view line) {
  return absl::FailedPreconditionError(absl::StrCat("found no \"", name, "\" in the row \"", line.substr(0, 40),
                                                    "\"; it belongs to another run or version"));
}

absl::StatusOr<int64_t> TsvStep(absl::Span<const std::string> columns, absl::string_view line) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, '\t');
  if (cells.size() != columns.size()) return NoRow(line);
  int64_t step = -1;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == "step" && !absl::SimpleAtoi(cells[c], &step)) return NoStep(cells[c]);
  }
  return step;
}

absl::StatusOr<int64_t> JsonStep(absl::Span<const std::string> columns, absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.size() != columns.size()) return NoRow(line);
  for (const std::string& column : columns) {
    if (!json.contains(BareName(column))) return NoColumn(BareName(column), line);
  }
  if (std::find(columns.begin(), columns.end(), "step") == columns.end()) return int64_t{-1};
  const auto step = json.find("step");
  if (!step->is_number_integer()) return NoStep(step->dump());
  return step->get<int64_t>();
}

}  // namespace

std::vector<LogFormat> AllLogFormats() { return {LogFormat::kTsv, LogFormat::kJsonl}; }

absl::StatusOr<std::vector<LogFormat>> ParseLogFormats(absl::string_view text) {
  std::vector<LogFormat> formats;
  if (text == "none") return formats;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    if (word != "tsv" && word != "jsonl") {
      return absl::InvalidArgumentError(
          absl::StrCat("found \"", word, "\" in \"", text, "\", expected tsv, jsonl, both as in tsv,jsonl, or none"));
    }
    const LogFormat format = word == "tsv" ? LogFormat::kTsv : LogFormat::kJsonl;
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  return formats;
}

std::string LogFormatsName(absl::Span<const LogFormat> formats) {
  if (formats.empty()) return "none";
  return absl::StrJoin(formats, ",", [](std::string* out, LogFormat format) {
    absl::StrAppend(out, LogFormatSuffix(format).substr(1));
  });
}

absl::string_view LogFormatSuffix(LogFormat format) { return format == LogFormat::kTsv ? ".tsv" : ".jsonl"; }

std::string LogColumn(absl::string_view name, absl::string_view unit) {
  return unit.empty() ? std::string(name) : absl::StrCat(name, "[", unit, "]");
}

std::string LogHeader(LogFormat format, absl::Span<const std::string> columns) {
  return format == LogFormat::kTsv ? absl::StrCat(absl::StrJoin(columns, "\t"), "\n") : "";
}

std::string LogUnits(absl::Span<const std::string> columns) {
  const auto unit = [](std::string* out, const std::string& column) {
    absl::StrAppend(out, Quoted(BareName(column)), ":", Quoted(Unit(column)));
  };
  return absl::StrCat("{", absl::StrJoin(columns, ",", unit), "}");
}

bool IsUnitsLine(LogFormat format, absl::string_view line) {
  return format == LogFormat::kJsonl && absl::StartsWith(line, "{\"units\":{");
}

std::string LogRow(LogFormat format, absl::Span<const std::string> columns, absl::Span<const double> row) {
  CHECK_EQ(row.size(), columns.size());
  std::string line;
  for (size_t c = 0; c < row.size(); ++c) {
    if (format == LogFormat::kTsv) {
      absl::StrAppend(&line, c > 0 ? "\t" : "", std::isnan(row[c]) ? "nan" : Number(row[c]));
    } else {
      absl::StrAppend(&line, c > 0 ? "," : "{", Quoted(BareName(columns[c])), ":",
                      std::isfinite(row[c]) ? Number(row[c]) : "null");
    }
  }
  if (format == LogFormat::kJsonl) absl::StrAppend(&line, row.empty() ? "{}" : "}");
  return line;
}

absl::StatusOr<int64_t> ParseLogStep(LogFormat format, absl::Span<const std::string> columns, absl::string_view line) {
  return format == LogFormat::kTsv ? TsvStep(columns, line) : JsonStep(columns, line);
}

}  // namespace rutile
