#include "lib/data_check/data_check.h"

#include "absl/strings/str_cat.h"
#include "lib/data_check/checks.h"

namespace rutile {

// Each keeps copies of a few structures.
constexpr size_t kMostSources = 20;

std::string DataFinding::Message() const { return absl::StrCat("data check (", check, "): ", found, "; ", remedy); }

void DataChecker::Add(const Structure& structure, DataPart part) {
  FrameFacts& facts = frames_.emplace_back();
  if (options_.only_across_parts) {
    ExamineWithoutDistances(structure, &facts);
  } else {
    examiner_.Examine(structure, &facts);
    work_.Add(structure);
    const std::string source = SourceOf(facts);
    if (work_by_source_.size() < kMostSources || work_by_source_.count(source) > 0) {
      work_by_source_[source].Add(structure);
    }
  }
  facts.part = part;
}

DataCheckResult DataChecker::Finish() {
  DataCheckResult result;
  result.frames = std::move(frames_);
  if (options_.only_across_parts) {
    CheckDuplicatesAcrossParts(result.frames, &result.findings);
    return result;
  }
  result.fit = FitCompositions(result.frames);
  CheckDistances(result.frames, &result.findings);
  CheckEnergies(result.frames, result.fit, options_.atomic_energies, &result.findings);
  CheckMixedEnergies(result.frames, &result.findings);
  CheckForcesAndStresses(result.frames, &result.findings);
  CheckZeroForces(result.frames, &result.findings);
  CheckWork(work_, &result.findings);
  CheckMixedForces(result.frames, work_by_source_, &result.findings);
  CheckCoverage(result.frames, options_, &result.findings);
  CheckKeys(result.frames, &result.findings);
  CheckDuplicates(result.frames, &result.findings);
  return result;
}

}  // namespace rutile
