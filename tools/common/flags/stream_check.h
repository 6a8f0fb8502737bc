// The data check of the tools that stream structures.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_STREAM_CHECK_H_
#define RUTILE_TOOLS_COMMON_FLAGS_STREAM_CHECK_H_

#include "absl/types/span.h"
#include "lib/data_check/data_check.h"
#include "lib/neighbor/structure_stream.h"

namespace rutile {

// Checks the structures that a stream delivers, while it delivers them.
//
//   StreamCheck check(&options);
//   ASSIGN_OR_RETURN(const StructureStreamStats stats, StreamStructures(inputs, options, chunk_atoms, &consumer));
//   check.PrintWarnings();
class StreamCheck {
 public:
  // Sets options->on_structure, and takes the atomic energies from the options. Must outlive the stream.
  explicit StreamCheck(StructureStreamOptions* options);
  StreamCheck(const StreamCheck&) = delete;
  StreamCheck& operator=(const StreamCheck&) = delete;

  // Judges what was delivered. Call once.
  DataCheckResult Finish() { return checker_.Finish(); }
  // Judges it and prints a warning for each finding. Call once, instead of Finish.
  void PrintWarnings();

 private:
  DataChecker checker_;
};

// Prints a warning for each finding.
void PrintFindings(absl::Span<const DataFinding> findings);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_STREAM_CHECK_H_
