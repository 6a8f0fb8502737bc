// The two forms of a training log: a table for people and spreadsheets, JSON lines for programs.
//
//   log.tsv      epoch <tab> step <tab> train_loss[eV/atom]         log.jsonl
//   {"units":{"epoch":"","step":"","train_loss":"eV/atom"}}
//                1           12         0.25                                   {"epoch":1,"step":12,"train_loss":0.25}
//
// Columns are given as LogColumn makes them. Both forms show the same digits; what is not there is nan, and null.

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

// Both, the default.
std::vector<LogFormat> AllLogFormats();

// "tsv,jsonl" in any order, or "none": an empty list. INVALID_ARGUMENT naming what was found and the choices.
absl::StatusOr<std::vector<LogFormat>> ParseLogFormats(absl::string_view text);
std::string LogFormatsName(absl::Span<const LogFormat> formats);  // "tsv,jsonl", "none"

absl::string_view LogFormatSuffix(LogFormat format);  // ".tsv", ".jsonl"

// "val_loss" or "epoch_time[s]".
std::string LogColumn(absl::string_view name, absl::string_view unit);

// The first line, without its end.
std::string LogHeader(LogFormat format, absl::Span<const std::string> columns);

// A line of values, without its end: nine digits, none lost for whole numbers. CHECK-fails unless there is a value for
// each column.
std::string LogRow(LogFormat format, absl::Span<const std::string> columns, absl::Span<const double> row);

// The optimizer steps that had been done, of a line that LogRow made: its column "step". -1 where there is no such
// column. FAILED_PRECONDITION saying what was found when it is no such line.
absl::StatusOr<int64_t> ParseLogStep(LogFormat format, absl::Span<const std::string> columns, absl::string_view line);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_LOG_FORMAT_H_
