#include "tools/common/flags/structure_stream_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/atomic_energies.h"
#include "tools/common/flags/parse_shard.h"
#include "tools/common/flags/selection_flags.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    atomic_energies, "",
    "Atomic reference energies in eV. They are given as Ti=-1604.6,O=-432.5 or as a file with a line \"Ti -1604.6\" "
    "for each element. The output records them, but stores energies as given; if empty, train fits them.");
DEFINE_string(shard, "1/1",
              "i/n: process every n-th structure only, from number i on. The name of the output file then ends in "
              "-0000i-of-0000n.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// Energies per atom, less the atomic energies, lie within a few eV of each other in any sensible set.
constexpr double kWideSpread = 10;   // eV
constexpr double kFarFromZero = 50;  // eV

// A key that was given, and that no structure has.
void WarnOfKey(const char* flag, const std::string& key, absl::string_view what, int64_t without,
               const StructureStreamStats& stats) {
  if (!FlagGiven(flag) || key.empty() || without < stats.structures) return;
  PrintWarning(absl::StrCat("--", flag, "=", key, ": no structure has ", what, " of that name"));
}

}  // namespace

absl::Status StreamOptionsFromFlags(const RecordedInputs& recorded, StructureStreamOptions* options) {
  ASSIGN_OR_RETURN(options->reader, StructureReaderOptionsFromFlags());
  ASSIGN_OR_RETURN(options->atomic_energies, ParseAtomicEnergies(FLAGS_atomic_energies));
  if (options->atomic_energies.empty()) options->atomic_energies = recorded.atomic_energies;
  RETURN_IF_ERROR(ParseShard(FLAGS_shard, &options->shard, &options->num_shards));
  options->num_threads = ThreadsFromFlags();
  const Selection selection = SelectionFromFlags();
  const bool is_recorded = !recorded.path.empty();
  options->config_key = selection.config_key.value_or(is_recorded ? recorded.config_key : kDefaultConfigKey);
  options->weight_key = selection.weight_key.value_or(recorded.weight_key);
  options->max_energy = selection.max_energy;
  options->max_forces = selection.max_forces;
  return absl::OkStatus();
}

void DescribeLabelKeys(const RecordedInputs& recorded, absl::Span<const std::string> inputs, Metadata* metadata) {
  const bool any_text =
      std::any_of(inputs.begin(), inputs.end(), [](const std::string& path) { return !LooksLikeTensorFile(path); });
  const LabelKeys keys = any_text ? LabelKeysFromFlags() : recorded.label_keys;
  const bool differ = any_text && !recorded.path.empty() && keys != recorded.label_keys;
  if (differ || !recorded.other_labels.empty()) {
    PrintWarning(absl::StrCat(recorded.path, ": its labels were read by other keys than those of ",
                              recorded.other_labels.empty() ? "the structures beside it" : recorded.other_labels,
                              ": if these are other energies or forces, do not mix them. The output records no keys"));
    return;
  }
  metadata->insert(keys.begin(), keys.end());
}

std::string DescribeLabels(const StructureStreamStats& stats) {
  return absl::StrCat(stats.structures - stats.without_energy, " with energy, ", stats.structures - stats.without_force,
                      " with forces, ", stats.structures - stats.without_stress, " with stress");
}

void PrintStreamWarnings(absl::string_view result, const StructureStreamOptions& options,
                         absl::Span<const uint8_t> species, const StructureStreamStats& stats) {
  WarnOfKey("energy_key", options.reader.energy_key, "an energy", stats.without_energy, stats);
  WarnOfKey("force_key", options.reader.force_key, "forces", stats.without_force, stats);
  WarnOfKey("stress_key", options.reader.stress_key, "a stress", stats.without_stress, stats);
  WarnOfKey("virial_key", options.reader.virial_key, "a virial", stats.without_stress, stats);
  WarnOfKey("config_key", options.config_key, "a value", stats.without_config, stats);
  // A shard may lack what others have.
  for (const uint8_t element : options.num_shards == 1 ? species : absl::Span<const uint8_t>()) {
    if (stats.elements[element]) continue;
    PrintWarning(
        absl::StrCat("no atom is ", ElementSymbol(element),
                     ", one of the species: its network cannot be trained, and the typespins of the others follow "
                     "from the whole list"));
  }
  if (stats.without_energy == stats.structures) {
    PrintWarning(
        absl::StrCat("no structure has an energy: the ", result, " can be used for prediction, not for training"));
  }
  if (!options.weight_key.empty() && stats.without_weight > 0) {
    PrintWarning(absl::StrCat(stats.without_weight, " of ", stats.structures, " structures have no ",
                              options.weight_key, " and weigh 1"));
  }
  if (options.atomic_energies.empty() || stats.without_energy == stats.structures) return;
  if (stats.highest_energy - stats.lowest_energy > kWideSpread || std::abs(stats.highest_energy) > kFarFromZero) {
    PrintWarning(absl::StrFormat(
        "less the atomic energies, energies lie between %.3f and %.3f eV/atom: are they from the same reference? "
        "Without --atomic_energies train fits them",
        stats.lowest_energy, stats.highest_energy));
  }
}

void PrintNearWarning(int64_t structures, const std::string& first, double min_cutoff) {
  if (structures == 0) return;
  PrintWarning(absl::StrCat(structures, " structures have atoms nearer than --min_cutoff=", min_cutoff,
                            " Angstrom, which the descriptor does not see; the first is ", first));
}

}  // namespace rutile
