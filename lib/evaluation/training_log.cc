#include "lib/evaluation/training_log.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

absl::string_view BareName(absl::string_view column) { return column.substr(0, column.find('[')); }

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
  TrainingLog log;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(file.data(), "\n"), '\n')) {
    ++line_number;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '\t');
    if (line_number == 1) {
      for (const absl::string_view cell : cells) log.columns.emplace_back(cell);
      log.values.resize(cells.size());
      if (log.Find("epoch") == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ":1: no column \"epoch\"; expected the log.tsv that train writes"));
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

}  // namespace rutile
