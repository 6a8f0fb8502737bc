#include "tools/featurize/check_data.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/data_check/data_check_report.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/neighbor/structure_stream.h"
#include "lib/tensorfile/provenance.h"
#include "tools/common/flags/output_flags.h"
#include "tools/common/flags/stream_check.h"
#include "tools/common/flags/structure_stream_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_bool(check_data, false,
            "Look for mistakes in the structures, and print what is suspicious, instead of making features. Units, "
            "signs, outliers, duplicates and missing labels are checked.");
DEFINE_string(check_dir, "",
              "Directory for the report of --check_data: data_check.html and data_check.tsv, with a line for each "
              "structure. If empty, none is written.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr int64_t kChunkAtoms = 1 << 13;

// Takes structures as they come: all is done where the stream announces them.
class Consumer : public StructureConsumer {
 public:
  absl::Status Accept(const NeighborFile&) override { return absl::OkStatus(); }
  void Reserve(int64_t) override {}
  absl::Status Compute(const StreamedStructure&, int64_t, int) override { return absl::OkStatus(); }
  absl::Status Emit(const StreamedStructure&, int64_t) override { return absl::OkStatus(); }
};

}  // namespace

bool WantsDataCheck() { return FLAGS_check_data; }

absl::Status CheckData(const ToolRun& run) {
  RETURN_IF_ERROR(RefuseFlags("with --check_data, which makes no features",
                              {"output", "species", "rad_order", "rad_cutoff", "ang_order", "ang_cutoff", "min_cutoff",
                               "fingerprints", "angular", "precision", "shard"}));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
  StructureStreamOptions options;
  RETURN_IF_ERROR(StreamOptionsFromFlags({}, &options));
  ProgressBar progress("featurize", /*total=*/-1, ProgressFromFlags());
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  StreamCheck check(&options);
  Consumer consumer;
  ASSIGN_OR_RETURN(const StructureStreamStats stats, StreamStructures(inputs, options, kChunkAtoms, &consumer));
  progress.Finish();
  const DataCheckResult result = check.Finish();
  std::string written;
  if (!FLAGS_check_dir.empty()) {
    RETURN_IF_ERROR(MakeDirectories(FLAGS_check_dir));
    RETURN_IF_ERROR(WriteDataCheckReport(FLAGS_check_dir, ShellCommand(run.command), result));
    written = absl::StrCat(" -> ", FLAGS_check_dir, "/data_check.html");
  }
  std::cout << FindingsToTsv(result);
  PrintMessage(absl::StrCat(stats.structures, " structures, ", stats.atoms, " atoms; ", DescribeLabels(stats), "; ",
                            stats.filtered, " left out; ", result.findings.size(),
                            result.findings.size() == 1 ? " finding" : " findings", written));
  return absl::OkStatus();
}

}  // namespace rutile
