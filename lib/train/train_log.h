// log.tsv: rows of numbers, one for each epoch or validation, under a header that names columns and units.

#ifndef RUTILE_LIB_TRAIN_TRAIN_LOG_H_
#define RUTILE_LIB_TRAIN_TRAIN_LOG_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// "val_loss" or "epoch_time[s]".
std::string LogColumn(absl::string_view name, absl::string_view unit);

class TrainLog {
 public:
  // A file that is there is continued: its first `keep_rows` rows stay, and the rest (what came after the checkpoint)
  // goes. keep_rows = 0 starts a new file. FAILED_PRECONDITION when the file to continue has other columns; otherwise
  // errors of the file system, with the path.
  static absl::StatusOr<TrainLog> Open(absl::string_view path, std::vector<std::string> columns, int64_t keep_rows);

  // Nine digits for numbers, none lost for epochs and steps; "nan" for what there is not. Flushed: a row is seen at
  // once. CHECK-fails unless there is a value for each column.
  absl::Status Append(absl::Span<const double> row);

 private:
  TrainLog(absl::string_view path, size_t num_columns) : path_(path), num_columns_(num_columns) {}

  std::string path_;
  size_t num_columns_;
  std::ofstream file_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TRAIN_LOG_H_
