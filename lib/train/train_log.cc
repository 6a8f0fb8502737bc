#include "lib/train/train_log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/file.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// What of a log stays: the header, and up to keep_rows whole rows.
absl::StatusOr<std::string> KeptPart(absl::string_view path, absl::string_view header, int64_t keep_rows) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  absl::string_view rest = contents.data();
  std::string kept;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) break;  // a row that was cut off
    const absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (kept.empty()) {
      if (line != header) {
        return absl::FailedPreconditionError(absl::StrCat(path, ": has the columns \"", line, "\", expected \"", header,
                                                          "\"; it belongs to another run or version"));
      }
    } else {
      if (keep_rows-- == 0) break;
      if (std::count(line.begin(), line.end(), '\t') != std::count(header.begin(), header.end(), '\t')) {
        return absl::FailedPreconditionError(absl::StrCat(path, ": found the row \"", line.substr(0, 40),
                                                          "\", expected one number for each column; it was damaged"));
      }
    }
    absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

std::string Cell(double value) {
  if (std::isnan(value)) return "nan";
  if (value == std::floor(value) && std::abs(value) < 1e15) return absl::StrCat(static_cast<int64_t>(value));
  return absl::StrFormat("%.9g", value);
}

}  // namespace

std::string LogColumn(absl::string_view name, absl::string_view unit) {
  return unit.empty() ? std::string(name) : absl::StrCat(name, "[", unit, "]");
}

absl::StatusOr<TrainLog> TrainLog::Open(absl::string_view path, std::vector<std::string> columns, int64_t keep_rows) {
  const std::string header = absl::StrJoin(columns, "\t");
  std::string kept;
  if (keep_rows > 0 && FileExists(path)) {
    ASSIGN_OR_RETURN(kept, KeptPart(path, header, keep_rows));
  }
  if (kept.empty()) kept = absl::StrCat(header, "\n");
  RETURN_IF_ERROR(WriteFileAtomically(path, kept));
  TrainLog log(path, columns.size());
  errno = 0;
  log.file_.open(log.path_, std::ios::app);
  if (!log.file_) return ErrnoStatus(errno, absl::StrCat("cannot write ", path));
  return log;
}

absl::Status TrainLog::Append(absl::Span<const double> row) {
  CHECK_EQ(row.size(), num_columns_);
  errno = 0;
  file_ << absl::StrJoin(row, "\t", [](std::string* out, double value) { absl::StrAppend(out, Cell(value)); }) << "\n"
        << std::flush;
  if (!file_) return ErrnoStatus(errno != 0 ? errno : EIO, absl::StrCat("cannot write ", path_));
  return absl::OkStatus();
}

}  // namespace rutile
