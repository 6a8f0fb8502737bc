// featurize: structures in, descriptors of every atom out.

#include <gflags/gflags.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/input_files.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/feature_file.h"
#include "lib/descriptor/featurizer.h"
#include "lib/tensorfile/tensor_writer.h"
#include "tools/common/atomic_energies.h"
#include "tools/common/descriptor_flags.h"
#include "tools/common/run_tool.h"
#include "tools/common/structure_flags.h"
#include "tools/common/thread_flags.h"

DEFINE_string(output, "", "File to write, *.safetensors; - is standard output.");
DEFINE_string(precision, "fp32", "fp32 or fp64: the type in which features are computed and stored.");
DEFINE_validator(precision, [](const char*, const std::string& value) { return value == "fp32" || value == "fp64"; });
DEFINE_string(atomic_energies, "",
              "Atomic reference energies in eV, as Ti=-1604.6,O=-432.5 or a file with a line \"Ti -1604.6\" for each "
              "element. They travel with the features; energies are stored as given. Empty: train fits them.");
DEFINE_string(config_key, "config_type", "Key of a frame whose value groups it, for splits and errors by group.");
DEFINE_double(max_energy, std::numeric_limits<double>::infinity(),
              "Leave out structures with more energy than this, in eV per atom less the atomic energies.");
DEFINE_double(max_forces, std::numeric_limits<double>::infinity(),
              "Leave out structures with a force component larger than this, in eV/Angstrom.");
DEFINE_string(shard, "1/1", "i/n: only every n-th structure from number i on, to a file named -0000i-of-0000n.");
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

// Energies per atom, less the atomic energies, lie within a few eV of each other in any sensible set.
constexpr double kWideSpread = 10;   // eV
constexpr double kFarFromZero = 50;  // eV

absl::Status ParseShard(const std::string& text, int* shard, int* num_shards) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], shard) && absl::SimpleAtoi(parts[1], num_shards) && *shard >= 1 &&
      *shard <= *num_shards && *num_shards <= 99999) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--shard=", text, ": expected i/n with 1 <= i <= n, as in 3/16"));
}

void PrintWarnings(const FeaturizeOptions& options, const FeaturizeStats& stats) {
  if (stats.too_close > 0) {
    PrintWarning(absl::StrCat(stats.too_close,
                              " structures have atoms nearer than --min_cutoff=", options.descriptor.min_cutoff,
                              " Angstrom, which the descriptor does not see; the first is ", stats.first_too_close));
  }
  if (stats.without_energy == stats.structures) {
    PrintWarning("no structure has an energy: the features can be used for prediction, not for training");
  } else if (stats.without_energy > 0) {
    PrintWarning(absl::StrCat(stats.without_energy, " of ", stats.structures,
                              " structures have no energy; train leaves them out"));
  }
  if (options.atomic_energies.empty() || stats.without_energy == stats.structures) return;
  if (stats.highest_energy - stats.lowest_energy > kWideSpread || std::abs(stats.highest_energy) > kFarFromZero) {
    PrintWarning(absl::StrFormat(
        "less the atomic energies, energies lie between %.3f and %.3f eV/atom: are they from the same reference? "
        "Without --atomic_energies train fits them",
        stats.lowest_energy, stats.highest_energy));
  }
}

absl::Status RunFeaturize(const ToolRun& run) {
  if (run.args.empty()) return absl::InvalidArgumentError("needs structures to read; see featurize --help");
  if (FLAGS_output.empty()) return absl::InvalidArgumentError("needs --output: the file to write, or - for a pipe");
  FeaturizeOptions options;
  ASSIGN_OR_RETURN(options.descriptor, DescriptorOptionsFromFlags());
  ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  ASSIGN_OR_RETURN(options.atomic_energies, ParseAtomicEnergies(FLAGS_atomic_energies));
  RETURN_IF_ERROR(ParseShard(FLAGS_shard, &options.shard, &options.num_shards));
  options.angular = AngularMethodFromFlags();
  options.precision = FLAGS_precision == "fp64" ? DType::kF64 : DType::kF32;
  options.num_threads = ThreadsFromFlags();
  options.config_key = FLAGS_config_key;
  options.max_energy = FLAGS_max_energy;
  options.max_forces = FLAGS_max_forces;
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));

  std::string output = FLAGS_output;
  if (options.num_shards > 1 && output != "-") output = ShardName(output, options.shard, options.num_shards);
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, FeatureSchema().kind, inputs));
  ProgressBar progress("featurize", /*total=*/-1, FLAGS_progress);
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const FeaturizeStats stats, Featurize(inputs, output, options, metadata));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.Finish();

  PrintWarnings(options, stats);
  PrintMessage(absl::StrFormat(
      "%d structures, %d atoms, %.1f neighbours per atom within %g Angstrom, %d features; "
      "%d left out; %.2f s, %.0f atoms/s -> %s",
      stats.structures, stats.atoms, static_cast<double>(stats.pairs) / stats.atoms, options.descriptor.cutoff(),
      options.descriptor.num_features(), stats.filtered, seconds, stats.atoms / seconds, output));
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(argc, argv,
                         {"featurize", "turn atomic structures into descriptors, ready to train on",
                          "featurize [flags] --species=Ti,O --output=features.safetensors INPUT..."},
                         rutile::RunFeaturize);
}
