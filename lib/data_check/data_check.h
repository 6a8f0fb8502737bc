// Looks for mistakes in a set of structures before anything is learned from it: wrong units and signs, outliers,
// duplicates, labels that are missing or mixed. docs/data-checks.md describes each check and the reason of its limits.
//
//   DataChecker checker({});
//   for (const Structure& structure : structures) checker.Add(structure);
//   for (const DataFinding& finding : checker.Finish().findings) PrintWarning(finding.Message());

#ifndef RUTILE_LIB_DATA_CHECK_DATA_CHECK_H_
#define RUTILE_LIB_DATA_CHECK_DATA_CHECK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/data_check/composition_fit.h"
#include "lib/data_check/frame_facts.h"
#include "lib/data_check/work_check.h"
#include "lib/structure/structure.h"

namespace rutile {

// One suspicion about the data.
struct DataFinding {
  std::string check;            // name of the check, as docs/data-checks.md has it: "distance"
  std::string found;            // what is suspicious, with numbers and a few structures by name
  std::string remedy;           // what to do about it
  std::vector<int64_t> frames;  // the structures concerned, in the order they were added; empty if it is all of them

  // Returns "data check (distance): found; remedy".
  std::string Message() const;
};

struct DataCheckOptions {
  std::map<uint8_t, double> atomic_energies;  // eV, reference energies that were given; may be empty
  // Labels that are reported where some structures have them and others lack them.
  bool energy_coverage = true, force_coverage = true, stress_coverage = true;
  // Reports nothing but structures that are in two parts, and examines no distances: for data that were checked before
  // they were split.
  bool only_across_parts = false;
};

struct DataCheckResult {
  std::vector<FrameFacts> frames;  // in the order they were added
  CompositionFit fit;
  std::vector<DataFinding> findings;
};

// Collects structures, about 200 bytes each, and judges them together. Not thread-safe.
class DataChecker {
 public:
  explicit DataChecker(DataCheckOptions options) : options_(std::move(options)) {}

  void Add(const Structure& structure, DataPart part = DataPart::kAll);

  // Runs all checks over what was added. Call once.
  DataCheckResult Finish();

 private:
  const DataCheckOptions options_;
  FrameExaminer examiner_;
  WorkCheck work_;
  std::map<std::string, WorkCheck> work_by_source_;  // of the first sources alone
  std::vector<FrameFacts> frames_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_DATA_CHECK_H_
