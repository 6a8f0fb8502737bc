// The featurize tool: turns structures into descriptors of every atom, or files of a knowledge graph into triples.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_format.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/descriptor/files/recorded_inputs.h"
#include "lib/file/input_files.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/angular_flag.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/flags/output_flags.h"
#include "tools/common/flags/stream_check.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/structure_stream_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/featurize/check_data.h"
#include "tools/featurize/featurize_triples.h"
#include "tools/featurize/triples_flags.h"

DEFINE_string(precision, "fp32", "fp32 or fp64: the type in which features are computed and stored.");
DEFINE_validator(precision, [](const char*, const std::string& value) {
  using rutile::Precision;
  return rutile::ParsePrecision(value, {Precision::kFp32, Precision::kFp64}).ok();
});

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

absl::Status RunFeaturize(const ToolRun& run) {
  ASSIGN_OR_RETURN(const bool is_knowledge_graph, IsKnowledgeGraph(run));
  if (is_knowledge_graph) return FeaturizeTriples(run);
  if (run.args.empty()) return absl::InvalidArgumentError("needs structures or triples to read; see featurize --help");
  RETURN_IF_ERROR(RefuseTriplesFlags());
  if (WantsDataCheck()) return CheckData(run);
  RETURN_IF_ERROR(RefuseFlags("without --check_data", {"check_dir"}));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
  ASSIGN_OR_RETURN(const RecordedInputs recorded, ReadRecordedInputs(inputs));
  if (std::all_of(inputs.begin(), inputs.end(), [](const std::string& path) { return LooksLikeTensorFile(path); })) {
    RETURN_IF_ERROR(RefuseStructureReaderFlags("on files that were made from structures"));
  }
  FeaturizeOptions options;
  RETURN_IF_ERROR(StreamOptionsFromFlags(recorded, &options));
  ASSIGN_OR_RETURN(const std::string output, OutputFromFlags(options.shard, options.num_shards));
  DescriptorOptions descriptor;
  if (recorded.descriptor.has_value()) {
    ASSIGN_OR_RETURN(descriptor, DescriptorOptionsFromFlags(*recorded.descriptor, recorded.descriptor_path));
  } else if (!DescriptorFlagsGiven()) {
    return absl::InvalidArgumentError(
        "needs --species for structures, their elements, as in --species=Ti,O; for a knowledge graph whose first line "
        "is not head TAB relation TAB tail, or comes from standard input, --train=FILE, and --separator, or --columns "
        "with the titles of head, relation and tail, if the lines are cut otherwise");
  } else {
    ASSIGN_OR_RETURN(descriptor, DescriptorOptionsFromFlags());
  }
  if (!descriptor.is_chebyshev()) {
    return absl::InvalidArgumentError(
        "--potential=many-body has no features to keep: its moments change with every rotation, and train computes "
        "them faster than it reads them; give train the structures, or neighbors made by cache-neighbors");
  }
  options.descriptor = descriptor.chebyshev();
  options.angular = AngularMethodFromFlags();
  ASSIGN_OR_RETURN(const Precision precision, kPrecisionNames.Parse(FLAGS_precision));
  options.precision = DTypeOf(precision);

  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, FeatureSchema().kind, inputs));
  DescribeLabelKeys(recorded, inputs, &metadata);
  ProgressBar progress("featurize", /*total=*/-1, ProgressFromFlags());
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  StreamCheck check(&options);
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const FeaturizeStats stats, Featurize(inputs, output, options, metadata));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.Finish();

  PrintNearWarning(stats.too_close, stats.first_too_close, options.descriptor.min_cutoff);
  PrintStreamWarnings("features", options, options.descriptor.species, stats);
  check.PrintWarnings();
  PrintMessage(
      absl::StrFormat("%d structures, %d atoms, %.1f neighbors per atom within %g Angstrom, %d features; %s; "
                      "%d left out; %.2f s, %.0f atoms/s -> %s",
                      stats.structures, stats.atoms, static_cast<double>(stats.pairs) / stats.atoms,
                      options.descriptor.cutoff(), options.descriptor.num_features(), DescribeLabels(stats),
                      stats.filtered, seconds, stats.atoms / seconds, output));
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv,
      {"featurize", "turn atomic structures into descriptors, or a knowledge graph into triples, ready to train on",
       "featurize [flags] --species=Ti,O --output=features.safetensors INPUT...\n"
       "       featurize [flags] --check_data [--check_dir=DIR] INPUT...\n"
       "       featurize [flags] --output=triples.safetensors TRAIN [VALID [TEST]] [IDS...]"},
      rutile::RunFeaturize);
}
