// A log of numbers that grows while a run trains, in each of the forms of log_format.h: log.tsv and log.jsonl with a
// row for each epoch or validation, steps.tsv and steps.jsonl with a row for every so many steps.

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

// What of a log stays when a run is resumed: the rest was written after the checkpoint, and will come again.
struct KeptRows {
  int64_t rows = 0;  // so many from the first on
  int64_t step = 0;  // and those that follow up to this value in their column "step"
};

class TrainLog {
 public:
  // Writes STEM.tsv and so on. columns: as LogColumn makes them. Files that are there are continued with what is `kept`
  // of them; with nothing kept new files begin. FAILED_PRECONDITION when a file to continue has other columns or is no
  // log; otherwise errors of the file system, with the path.
  static absl::StatusOr<TrainLog> Open(absl::string_view stem, std::vector<std::string> columns,
                                       absl::Span<const LogFormat> formats, const KeptRows& kept);
  TrainLog(TrainLog&&) = default;
  TrainLog& operator=(TrainLog&& other) noexcept;
  ~TrainLog();

  // A row is seen at once. CHECK-fails unless there is a value for each column. After an error (a full disk) the files
  // end with a whole row, and what is missing is written by a later call.
  absl::Status Append(absl::Span<const double> row);
  // The same, but a row that comes within a tenth of a second of the last write waits: for one that comes later, for
  // Flush, or for the end of the log. So that short epochs do not each wait for the file system, nor for digits: of
  // rows one after the other they take a fraction of what they take with an epoch in between.
  absl::Status AppendSoon(absl::Span<const double> row);
  // Writes what is missing, if anything.
  absl::Status Flush();
  // To the device, so that a power cut does not take it. May be called beside the others, by another thread.
  absl::Status Sync() const;

 private:
  // A file that is open for appending.
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
    // What is pending, all of it or whole rows.
    absl::Status Write();

    LogFormat format;
    std::string path;
    int fd;
    int64_t size;         // of whole rows
    std::string pending;  // rows that are not in it
  };

  explicit TrainLog(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void Queue(absl::Span<const double> row);
  // What is queued is pending in each form.
  void FormatQueue();

  std::vector<std::string> columns_;
  std::vector<File> files_;
  std::vector<double> queue_;                      // rows without a form
  std::chrono::steady_clock::time_point written_;  // when Flush last succeeded
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_TRAIN_LOG_H_
