#include "tools/common/flags/stream_check.h"

#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

DataCheckOptions OptionsOf(const StructureStreamOptions& stream) {
  DataCheckOptions options;
  options.atomic_energies = stream.atomic_energies;
  return options;
}

}  // namespace

StreamCheck::StreamCheck(StructureStreamOptions* options) : checker_(OptionsOf(*options)) {
  options->on_structure = [this](const Structure& structure) { checker_.Add(structure); };
}

void StreamCheck::PrintWarnings() { PrintFindings(Finish().findings); }

void PrintFindings(absl::Span<const DataFinding> findings) {
  for (const DataFinding& finding : findings) PrintWarning(finding.Message());
}

}  // namespace rutile
