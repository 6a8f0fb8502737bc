// What tracin writes beside the table on standard output, and where.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUT_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_OUTPUT_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

struct OutputFlags {
  std::string output;       // influence.safetensors; "": none; "-": standard output, in place of the table
  std::string csv_output;   // "": none; "-" likewise
  std::string json_output;  // "": none; "-" likewise
  bool per_triple = false;  // one JSON file for each test, in the folder of json_output
  bool skip_existing = false;

  bool prints_table() const { return output != "-" && csv_output != "-" && json_output != "-"; }
  bool has_file() const { return !output.empty() && output != "-"; }
  // "x_test_3.csv" of "x.csv"; x.csv itself of a single test.
  std::string CsvOf(int64_t test, bool single) const;
  // "folder/tracin_test_3.json".
  std::string JsonOf(int64_t test) const;
};

// From --output, --csv_output, --json_output, --output_per_triple, --skip_existing. INVALID_ARGUMENT: a flag without
// effect beside the others, --resume without a file, or two for standard output.
absl::StatusOr<OutputFlags> OutputFlagsFromFlags(const TracinFlags& flags);

// INVALID_ARGUMENT where files of several tests would be standard output.
absl::Status CheckCsvOfTests(const OutputFlags& outputs, size_t num_tests);

// Those of `tests` that are still to be done: with --skip_existing not those whose files of their own are there.
// Empty: nothing is.
std::vector<int64_t> TestsToDo(const OutputFlags& outputs, const std::vector<int64_t>& tests);

// With --skip_existing: every file that is written once for all is there already, and there is one.
bool AllExist(const OutputFlags& outputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUT_FLAGS_H_
