// The cache-neighbors tool: turns structures into the neighbors of every atom, or triples into known tails or a
// subgraph.

#include <gflags/gflags.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/file/input_files.h"
#include "lib/neighbor/cache_neighbors.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/task/precision.h"
#include "tools/cache-neighbors/cache_triples.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/flags/output_flags.h"
#include "tools/common/flags/stream_check.h"
#include "tools/common/flags/structure_stream_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DECLARE_double(cutoff);
DEFINE_bool(triplets, false,
            "Add triplets of atoms within --ang_cutoff, for --angular=triplets. They take a hundred times the space.");
DEFINE_string(vectors, "none",
              "none, fp32 or fp64: write the vectors between neighbors, too. Without them, they are computed from "
              "positions and lattice shifts, exactly and in less time than reading takes.");
DEFINE_validator(vectors, [](const char*, const std::string& value) {
  using rutile::Precision;
  return value == "none" || rutile::ParsePrecision(value, {Precision::kFp32, Precision::kFp64}).ok();
});

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

absl::Status DescriptorOrCutoff(CacheNeighborsOptions* options) {
  if (FlagGiven("cutoff") && PotentialFromFlag() != PotentialKind::kManyBody) {
    if (FLAGS_cutoff == 0) return absl::InvalidArgumentError("--cutoff=0: expected a distance in Angstrom");
    for (const char* flag : {"species", "rad_order", "rad_cutoff", "ang_order", "min_cutoff", "fingerprints",
                             "radial_functions", "max_l", "radial_basis"}) {
      if (!FlagGiven(flag)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--cutoff and --", flag, ": give a cutoff alone, for any descriptor, or the descriptor, which is recorded"));
    }
    if (FLAGS_triplets != FlagGiven("ang_cutoff")) {
      return absl::InvalidArgumentError(FLAGS_triplets ? "--triplets needs --ang_cutoff beside --cutoff"
                                                       : "--cutoff and --ang_cutoff, but no --triplets");
    }
    options->cutoff = FLAGS_cutoff;
    if (!FLAGS_triplets) return absl::OkStatus();
    ASSIGN_OR_RETURN(options->triplet_cutoff, AngularCutoffFromFlag());
    if (!(options->triplet_cutoff > 0 && options->triplet_cutoff <= FLAGS_cutoff)) {
      return absl::InvalidArgumentError(absl::StrCat("--ang_cutoff=", options->triplet_cutoff,
                                                     ": expected more than 0 and at most --cutoff=", FLAGS_cutoff));
    }
    return absl::OkStatus();
  }
  if (!DescriptorFlagsGiven()) {
    return absl::InvalidArgumentError(
        "needs --cutoff, in Angstrom, or the descriptor: --species=Ti,O and its other flags");
  }
  ASSIGN_OR_RETURN(const DescriptorOptions descriptor, DescriptorOptionsFromFlags());
  options->cutoff = descriptor.cutoff();
  options->species = descriptor.species();
  options->descriptor = descriptor.ToJson();
  options->min_cutoff = descriptor.min_cutoff();
  if (!FLAGS_triplets) return absl::OkStatus();
  if (descriptor.triplet_cutoff() == 0) {
    return absl::InvalidArgumentError("--triplets: --potential=many-body has no use for them; leave the flag out");
  }
  options->triplet_cutoff = descriptor.triplet_cutoff();
  return absl::OkStatus();
}

// Returns ", 12.3 MB", or nothing for a stream.
std::string Size(const std::string& path) {
  struct stat info;
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return absl::StrFormat(", %.1f MB", info.st_size / 1e6);
}

absl::Status RunCacheNeighbors(const ToolRun& run) {
  if (run.args.empty()) {
    return absl::InvalidArgumentError("needs structures or triples to read; see cache-neighbors --help");
  }
  ASSIGN_OR_RETURN(const bool is_graph, IsTriplesInput(run));
  if (is_graph) return CacheTriples(run);
  RETURN_IF_ERROR(RefuseTriplesFlags());
  CacheNeighborsOptions options;
  RETURN_IF_ERROR(DescriptorOrCutoff(&options));
  RETURN_IF_ERROR(StreamOptionsFromFlags({}, &options));
  ASSIGN_OR_RETURN(const std::string output, OutputFromFlags(options.shard, options.num_shards));
  if (FLAGS_vectors != "none") {
    ASSIGN_OR_RETURN(const Precision precision, kPrecisionNames.Parse(FLAGS_vectors));
    options.vectors = DTypeOf(precision);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));

  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, NeighborSchema().kind, inputs));
  DescribeLabelKeys({}, inputs, &metadata);
  ProgressBar progress("cache-neighbors", /*total=*/-1, ProgressFromFlags());
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  StreamCheck check(&options);
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const CacheNeighborsStats stats, CacheNeighbors(inputs, output, options, metadata));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.Finish();

  PrintNearWarning(stats.too_close, stats.first_too_close, options.min_cutoff);
  PrintStreamWarnings("neighbors", options, options.species, stats);
  check.PrintWarnings();
  const std::string triplets =
      FLAGS_triplets ? absl::StrFormat(" and %d triplets within %g", stats.triplets, options.triplet_cutoff) : "";
  PrintMessage(absl::StrFormat(
      "%d structures, %d atoms, %d pairs within %g Angstrom%s, %.1f neighbors per atom; %s; %d left out%s; "
      "%.2f s, %.0f pairs/s -> %s",
      stats.structures, stats.atoms, stats.pairs, options.cutoff, triplets,
      static_cast<double>(stats.pairs) / stats.atoms, DescribeLabels(stats), stats.filtered, Size(output), seconds,
      stats.pairs / seconds, output));
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv,
      {"cache-neighbors", "find the neighbors of every atom, or a graph's known tails, once for all runs",
       "cache-neighbors [flags] --cutoff=6 --output=neighbors.safetensors INPUT...\n"
       "       cache-neighbors [flags] --output=known.safetensors TRIPLES"},
      rutile::RunCacheNeighbors);
}
