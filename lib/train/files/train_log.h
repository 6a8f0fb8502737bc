// A log of numbers that grows during a run, in the formats of log_format.h: log.tsv and log.jsonl with a row for each
// epoch or validation, steps.tsv and steps.jsonl with a row for every n-th step.

#ifndef RUTILE_LIB_TRAIN_FILES_TRAIN_LOG_H_
#define RUTILE_LIB_TRAIN_FILES_TRAIN_LOG_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/train/files/log_format.h"

namespace rutile {

// The rows of a log to keep when a run is resumed. Later rows were written after the checkpoint and will come again.
struct KeptRows {
  int64_t rows = 0;  // the first rows to keep
  int64_t step = 0;  // also keep the following rows up to this value of column "step"
};

// Appends rows to one file per format. A crash leaves whole rows.
class TrainLog {
 public:
  // Opens STEM.tsv, STEM.jsonl. columns: as LogColumn makes them. Existing files are cut back to `kept` and continued;
  // if nothing is kept, new files begin. FAILED_PRECONDITION if an existing file has other columns or is no log;
  // otherwise errors of the file system, with the path.
  static absl::StatusOr<TrainLog> Open(absl::string_view stem, std::vector<std::string> columns,
                                       absl::Span<const LogFormat> formats, const KeptRows& kept);
  TrainLog(TrainLog&&) = default;
  TrainLog& operator=(TrainLog&& other) noexcept;
  ~TrainLog();

  // Writes a row at once. CHECK-fails unless there is a value for each column. After an error (a full disk) the files
  // end with a whole row, and a later call writes the missing ones.
  absl::Status Append(absl::Span<const double> row);
  // Appends a row that may be delayed: if the last write is less than a tenth of a second ago, the row waits for a
  // later row, for Flush, or for the end of the log. Short epochs then neither wait for the file system nor format
  // digits one row at a time; rows formatted together cost a fraction of rows formatted between epochs.
  absl::Status AppendSoon(absl::Span<const double> row);
  // Writes all delayed rows.
  absl::Status Flush();
  // Forces written rows to the device, so that a power cut does not lose them. May run concurrently with other members.
  absl::Status Sync() const;

 private:
  // A file open for appending.
  struct File {
    File(LogFormat f, std::string p, int descriptor, int64_t bytes)
        : format(f), path(std::move(p)), fd(descriptor), size(bytes) {}
    File(File&& other) noexcept
        : format(other.format),
          path(std::move(other.path)),
          fd(std::exchange(other.fd, -1)),
          size(other.size),
          pending(std::move(other.pending)) {}
    ~File();
    // Writes `pending`: all of it, or whole rows.
    absl::Status Write();

    LogFormat format;
    std::string path;
    int fd;
    int64_t size;         // of whole rows
    std::string pending;  // rows not yet written
  };

  explicit TrainLog(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void Queue(absl::Span<const double> row);
  // Formats the queued rows into each file's `pending`.
  void FormatQueue();

  std::vector<std::string> columns_;
  std::vector<File> files_;
  std::vector<double> queue_;                      // rows not yet formatted
  std::chrono::steady_clock::time_point written_;  // when Flush last succeeded
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_TRAIN_LOG_H_
