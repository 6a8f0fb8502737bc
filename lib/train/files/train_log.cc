#include "lib/train/files/train_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr std::chrono::milliseconds kWait{100};

// Returns the part of a log to keep: the header, and whole rows up to `kept`.
absl::StatusOr<std::string> KeptPart(LogFormat format, const std::string& path, absl::Span<const std::string> columns,
                                     const KeptRows& kept) {
  const std::string header = LogHeader(format, columns);
  bool header_is_due = !header.empty();
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  absl::string_view rest = contents.data();
  std::string text;
  int64_t row = 0;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) break;  // drop a truncated row
    const absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (IsUnitsLine(format, line)) continue;  // an older version's
    if (header_is_due) {
      header_is_due = false;
      const absl::string_view expected = absl::StripSuffix(header, "\n");
      if (line != expected) {
        return absl::FailedPreconditionError(absl::StrCat(path, ": begins with \"", line, "\", expected \"", expected,
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
    const std::string path = absl::StrCat(stem, LogFormatSuffix(format));
    std::string text;
    if (resumed && FileExists(path)) {
      ASSIGN_OR_RETURN(text, KeptPart(format, path, log.columns_, kept));
    }
    if (text.empty()) text = LogHeader(format, log.columns_);
    RETURN_IF_ERROR(WriteFileAtomically(path, text));
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path));
    log.files_.emplace_back(format, path, fd, static_cast<int64_t>(text.size()));
  }
  return log;
}

TrainLog& TrainLog::operator=(TrainLog&& other) noexcept {
  std::swap(columns_, other.columns_);
  std::swap(files_, other.files_);
  std::swap(queue_, other.queue_);
  std::swap(written_, other.written_);
  return *this;
}

TrainLog::~TrainLog() { FormatQueue(); }

void TrainLog::Queue(absl::Span<const double> row) {
  CHECK_EQ(row.size(), columns_.size());
  if (!files_.empty()) queue_.insert(queue_.end(), row.begin(), row.end());
}

void TrainLog::FormatQueue() {
  const absl::Span<const double> queue = queue_;
  for (File& file : files_) {
    for (size_t at = 0; at < queue.size(); at += columns_.size()) {
      absl::StrAppend(&file.pending, LogRow(file.format, columns_, queue.subspan(at, columns_.size())), "\n");
    }
  }
  queue_.clear();
}

absl::Status TrainLog::Append(absl::Span<const double> row) {
  Queue(row);
  return Flush();
}

absl::Status TrainLog::AppendSoon(absl::Span<const double> row) {
  Queue(row);
  return std::chrono::steady_clock::now() - written_ < kWait ? absl::OkStatus() : Flush();
}

absl::Status TrainLog::File::Write() {
  absl::Status status;
  absl::string_view rest = pending;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      status = ErrnoStatus(errno, absl::StrCat("cannot write ", path));
      break;
    }
    rest.remove_prefix(n);
  }
  if (rest.empty()) {
    size += static_cast<int64_t>(pending.size());
    pending.clear();
  } else if (::ftruncate(fd, size) != 0) {  // remove a partial row
    status.Update(ErrnoStatus(errno, absl::StrCat("cannot write ", path)));
  }
  return status;
}

absl::Status TrainLog::Flush() {
  const ProfileScope scope(Stage::kLog);
  FormatQueue();
  absl::Status status;
  for (File& file : files_) status.Update(file.Write());
  if (status.ok()) written_ = std::chrono::steady_clock::now();
  return status;
}

absl::Status TrainLog::Sync() const {
  for (const File& file : files_) {
    // Some file systems cannot sync (EINVAL); that is no error of this log.
    if (::fdatasync(file.fd) != 0 && errno != EINVAL) {
      return ErrnoStatus(errno, absl::StrCat("cannot write ", file.path));
    }
  }
  return absl::OkStatus();
}

TrainLog::File::~File() {
  if (fd < 0) return;
  Write().IgnoreError();  // callers that need the error call Flush
  ::close(fd);
}

}  // namespace rutile
