#include "lib/evaluation/training_log.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/directory.h"
#include "lib/file/file.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

absl::string_view BareName(absl::string_view column) { return column.substr(0, column.find('[')); }

constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;  // bytes that are not UTF-8
constexpr char kExpected[] = "; expected the log.tsv or log.jsonl that train writes";

absl::StatusOr<TrainingLog> ParseTable(absl::string_view path, absl::string_view text) {
  TrainingLog log;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    ++line_number;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '\t');
    if (line_number == 1) {
      for (const absl::string_view cell : cells) log.columns.emplace_back(cell);
      log.values.resize(cells.size());
      if (log.Find("epoch") == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":1: no column \"epoch\"", kExpected));
      }
      continue;
    }
    if (cells.size() != log.columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line_number, ": ", cells.size(), " columns, the header has ", log.columns.size()));
    }
    for (size_t c = 0; c < cells.size(); ++c) {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!cells[c].empty() && !absl::SimpleAtod(cells[c], &value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ":", line_number, ": ", log.columns[c], " is \"", cells[c], "\", expected a number"));
      }
      log.values[c].push_back(value);
    }
  }
  return log;
}

// Returns the units that config.json beside the log has, {"val_loss":"eV/atom"}, as rows of log.jsonl name none; null
// if there are none, as in a file of that name by another program.
nlohmann::ordered_json UnitsBeside(absl::string_view path) {
  const absl::StatusOr<FileContents> config = FileContents::Open(absl::StrCat(DirectoryOf(path), "/config.json"));
  if (!config.ok()) return {};
  const absl::string_view text = config->data();
  const auto json = nlohmann::ordered_json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("log_units") ? json["log_units"] : nlohmann::ordered_json();
}

// Appends units to the names of columns: "val_loss[eV/atom]", as in log.tsv.
void AddUnits(const nlohmann::ordered_json& units, std::vector<std::string>* columns) {
  if (!units.is_object()) return;
  for (std::string& column : *columns) {
    const auto unit = units.find(column);
    if (unit == units.end() || !unit->is_string() || unit->get_ref<const std::string&>().empty()) continue;
    absl::StrAppend(&column, "[", unit->get_ref<const std::string&>(), "]");
  }
}

absl::StatusOr<TrainingLog> ParseJsonLines(absl::string_view path, absl::string_view text) {
  TrainingLog log;
  nlohmann::ordered_json units;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    ++line_number;
    const auto row =
        nlohmann::ordered_json::parse(line.begin(), line.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": is not a JSON object", kExpected));
    }
    if (line_number == 1 && row.size() == 1 && row.contains("units")) {  // older versions begin so
      units = row["units"];
      continue;
    }
    if (log.columns.empty()) {
      for (const auto& [name, value] : row.items()) log.columns.push_back(name);
      log.values.resize(log.columns.size());
      if (log.Find("epoch") == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": no \"epoch\"", kExpected));
      }
    }
    size_t c = 0;
    for (const auto& [name, value] : row.items()) {
      if (c >= log.columns.size() || name != log.columns[c]) break;
      if (!value.is_number() && !value.is_null()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": ", name, " is ",
                                                       value.dump(-1, ' ', false, kReplace),
                                                       ", expected a number or null"));
      }
      log.values[c++].push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
    }
    if (c != log.columns.size() || row.size() != log.columns.size()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": ", row.size(),
                                                     " names, or other ones, than the ", log.columns.size(),
                                                     " of the first row"));
    }
  }
  if (log.columns.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": has no row", kExpected));
  AddUnits(units.is_object() ? units : UnitsBeside(path), &log.columns);
  return log;
}

}  // namespace

const std::vector<double>* TrainingLog::Find(absl::string_view name) const {
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == name || BareName(columns[c]) == name) return &values[c];
  }
  return nullptr;
}

std::string TrainingLog::Unit(absl::string_view name) const {
  for (const std::string& column : columns) {
    const size_t open = column.find('[');
    if (BareName(column) != name || open == std::string::npos) continue;
    return column.substr(open + 1, column.size() - open - 2);
  }
  return "";
}

absl::StatusOr<TrainingLog> ReadTrainingLog(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(path));
  const bool is_json = absl::StartsWith(file.data(), "{");
  return is_json ? ParseJsonLines(path, file.data()) : ParseTable(path, file.data());
}

}  // namespace rutile
