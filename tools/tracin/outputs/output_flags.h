// Options for the files that tracin writes, besides the table on standard output.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_OUTPUT_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_OUTPUT_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/files/influence_file.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Which files to write.
struct OutputFlags {
  std::string output;       // influence.safetensors; "": none; "-": standard output, instead of the table
  std::string csv_output;   // "": none; "-": standard output
  std::string json_output;  // "": none; "-": standard output
  bool per_triple = false;  // one JSON file for each test, in the directory of json_output
  bool skip_existing = false;

  bool prints_table() const { return output != "-" && csv_output != "-" && json_output != "-"; }
  bool has_file() const { return !output.empty() && output != "-"; }
  // Returns "x_test_3.csv" for "x.csv"; x.csv itself if a single test was asked for. num_tests: the number asked for,
  // here and below, of which a call may compute fewer.
  std::string CsvOf(int64_t test, size_t num_tests) const;
  // Returns "folder/tracin_test_3.json".
  std::string JsonOf(int64_t test) const;
  // Returns the outputs that hold all tests together.
  std::vector<std::string> SharedFiles(size_t num_tests) const;
  // Returns the outputs that hold this test alone.
  std::vector<std::string> FilesOf(int64_t test, size_t num_tests) const;
  // True if --skip_existing leaves this file as it is.
  bool Keeps(const std::string& path) const;
};

// Reads --output, --csv_output, --json_output, --output_per_triple, --skip_existing. INVALID_ARGUMENT: a flag that has
// no effect beside the others, --resume without a file, or two outputs on standard output.
absl::StatusOr<OutputFlags> OutputFlagsFromFlags(const TracinFlags& flags);

// INVALID_ARGUMENT if CSV files of several tests would go to standard output.
absl::Status CheckCsvOfTests(const OutputFlags& outputs, size_t num_tests);

// Returns the tests to compute, of those asked for: all, or with --skip_existing those that lack a file of their own. A
// missing file of all tests together needs all of them. Nothing if no file is missing.
std::optional<std::vector<int64_t>> TestsToDo(const OutputFlags& outputs, const std::vector<int64_t>& tests);

// With --skip_existing, INVALID_ARGUMENT if the influence file or a JSON file of one of `tests` is there and answers
// another question than `description`, which names all of them. Other tables do not say what they answer.
absl::Status CheckExisting(const OutputFlags& outputs, const std::vector<int64_t>& tests,
                           const InfluenceDescription& description);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_OUTPUT_FLAGS_H_
