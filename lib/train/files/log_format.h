// The two formats of a training log: a table for people and spreadsheets, JSON lines for programs.
//
//   log.tsv                                        log.jsonl
//   epoch <tab> step <tab> train_loss[eV/atom]     {"epoch":1,"step":12,"train_loss":0.25}
//   1     <tab> 12   <tab> 0.25
//
// Columns are named by LogColumn. Both formats show the same digits; a missing value is nan, or null in JSON. Each line
// of JSON is a row and nothing else, so that pandas.read_json(path, lines=True) reads the file; config.json has the
// units. Versions before this one began the JSON with a line {"units":{"epoch":"","step":"","train_loss":"eV/atom"}}.

#ifndef RUTILE_LIB_TRAIN_FILES_LOG_FORMAT_H_
#define RUTILE_LIB_TRAIN_FILES_LOG_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

enum class LogFormat { kTsv, kJsonl };

// The default: both formats.
std::vector<LogFormat> AllLogFormats();

// Parses "tsv,jsonl" in any order, or "none" (an empty list). INVALID_ARGUMENT naming the text and the choices.
absl::StatusOr<std::vector<LogFormat>> ParseLogFormats(absl::string_view text);
std::string LogFormatsName(absl::Span<const LogFormat> formats);  // "tsv,jsonl", "none"

absl::string_view LogFormatSuffix(LogFormat format);  // ".tsv", ".jsonl"

// Returns the name of a column: "val_loss", or "epoch_time[s]" with a unit.
std::string LogColumn(absl::string_view name, absl::string_view unit);

// Returns the first line of the log with its newline, or "" for JSON, which has none.
std::string LogHeader(LogFormat format, absl::Span<const std::string> columns);

// Returns a JSON object with the unit of each column, "" for none: {"epoch":"","train_loss":"eV/atom"}.
std::string LogUnits(absl::Span<const std::string> columns);

// True for the first line of a JSON log of an older version, which names the units and is no row.
bool IsUnitsLine(LogFormat format, absl::string_view line);

// Returns a line of values, without a newline: nine digits, whole numbers exact. CHECK-fails unless there is a value
// for each column.
std::string LogRow(LogFormat format, absl::Span<const std::string> columns, absl::Span<const double> row);

// Returns the value of column "step" in a line that LogRow made; -1 if there is no such column. FAILED_PRECONDITION
// naming the text found if the line is not of this log.
absl::StatusOr<int64_t> ParseLogStep(LogFormat format, absl::Span<const std::string> columns, absl::string_view line);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_LOG_FORMAT_H_
