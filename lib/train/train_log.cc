#include "lib/train/train_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// What of a log stays: the header, and whole rows up to `kept`.
absl::StatusOr<std::string> KeptPart(LogFormat format, const std::string& path, absl::Span<const std::string> columns,
                                     const KeptRows& kept) {
  const std::string header = LogHeader(format, columns);
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  absl::string_view rest = contents.data();
  std::string text;
  int64_t row = 0;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) break;  // a row that was cut off
    const absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (text.empty()) {
      if (line != header) {
        return absl::FailedPreconditionError(absl::StrCat(path, ": begins with \"", line, "\", expected \"", header,
                                                          "\"; it belongs to another run or version"));
      }
    } else {
      const absl::StatusOr<int64_t> step = ParseLogStep(format, columns, line);
      if (!step.ok()) return absl::FailedPreconditionError(absl::StrCat(path, ": ", step.status().message()));
      if (++row > kept.rows && (*step < 0 || *step > kept.step)) break;
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<TrainLog> TrainLog::Open(absl::string_view stem, std::vector<std::string> columns,
                                        absl::Span<const LogFormat> formats, const KeptRows& kept) {
  TrainLog log(std::move(columns));
  const bool resumed = kept.rows > 0 || kept.step > 0;
  for (const LogFormat format : formats) {
    File file = {format, absl::StrCat(stem, LogFormatSuffix(format)), std::ofstream()};
    std::string text;
    if (resumed && FileExists(file.path)) {
      ASSIGN_OR_RETURN(text, KeptPart(format, file.path, log.columns_, kept));
    }
    if (text.empty()) text = absl::StrCat(LogHeader(format, log.columns_), "\n");
    RETURN_IF_ERROR(WriteFileAtomically(file.path, text));
    errno = 0;
    file.stream.open(file.path, std::ios::app);
    if (!file.stream) return ErrnoStatus(errno, absl::StrCat("cannot write ", file.path));
    log.files_.push_back(std::move(file));
  }
  return log;
}

absl::Status TrainLog::Append(absl::Span<const double> row) {
  for (File& file : files_) {
    errno = 0;
    file.stream << LogRow(file.format, columns_, row) << "\n" << std::flush;
    if (!file.stream) return ErrnoStatus(errno != 0 ? errno : EIO, absl::StrCat("cannot write ", file.path));
  }
  return absl::OkStatus();
}

}  // namespace rutile
