#include "tools/train/flags/data_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/file/preload.h"
#include "lib/machine/memory.h"
#include "lib/potential/data/config_weights.h"
#include "lib/structure/element.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/flags/selection_flags.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(config_weights, "",
              "Training weights by config type, as in bulk=1,surface*=0.5. The first glob that matches counts, and "
              "structures without a match weigh 1. These weights multiply those of --weight_key.");
DEFINE_bool(cached_features, true,
            "Compute the features of all structures once and keep them in memory. This applies to energies that are "
            "learned without forces.");
DEFINE_bool(cache_neighbors, true, "Find neighbors once and keep them in memory, at 10 bytes per pair.");
DEFINE_bool(cache_triplets, false,
            "Keep triplets in memory, too, with --angular=triplets, at 4 bytes each. This is slower than finding them "
            "in each epoch.");
DEFINE_bool(cache_geometry, true,
            "Keep sorted neighbors, moments and features for force training. Epochs take 0.7 to 0.75 of the time and "
            "give the same bits, at about 25 bytes per pair.");
DEFINE_int64(cache_max_bytes, 0,
             "Memory limit, in bytes, for each cache: features, neighbors and geometry. With 0, it is half of the "
             "machine's memory, and for geometry 64 MiB or a sixteenth of the machine's memory, whichever is less. "
             "Values that do not fit are computed in each epoch; features or neighbors that do not fit are an error if "
             "--cached_features or --cache_neighbors is given.");
DEFINE_string(cache_dir, "",
              "Directory that stores neighbors in files instead of memory. A hash of structures and cutoffs names the "
              "files, so that this run and later ones find them.");
DEFINE_string(preload, "none",
              "How to load files of features and neighbors: none, ram or shm. With none, files are mapped, and pages "
              "are read when they are needed; ram reads them into this process's memory before training; shm copies "
              "them to /dev/shm, where other processes and later runs find them.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// Structures without forces are learned without them, and so are those that are not in the sample.
bool EnergiesWithoutForces(const AtomicData& data, const AtomisticTaskOptions& options) {
  const LossOptions& loss = options.loss;
  if (loss.stress_weight == 0 && (loss.force_weight == 0 || options.force_sampling.fraction < 1)) return true;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    const bool force = loss.force_weight > 0 && !data.force(s).empty();
    const bool stress = loss.stress_weight > 0 && data.has_stress(s);
    if (!force && !stress) return true;
  }
  return false;
}

int64_t MaxBytes() {
  if (FLAGS_cache_max_bytes > 0) return FLAGS_cache_max_bytes;
  return MemoryLimit() / 2;
}

bool LearnsForces(const AtomisticTaskOptions& options) {
  return options.loss.force_weight > 0 || options.loss.stress_weight > 0;
}

// Bytes of the features of all structures in the type of the parameters.
int64_t FeatureBytes(const AtomicData& data, const AtomisticTaskOptions& options) {
  int64_t atoms = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) atoms += data.num_atoms(s);
  return atoms * data.descriptor().num_features() * ByteSize(options.precision);
}

absl::Status CacheFeatures(const AtomicData& data, AtomisticTaskOptions* options, std::vector<std::string>* messages) {
  options->cached_features = false;
  if (data.has_features()) {
    options->standardized_bytes = FLAGS_cache_max_bytes > 0 ? FLAGS_cache_max_bytes : AvailableMemory() / 2;
    const int64_t bytes = FeatureBytes(data, *options);
    if (!LearnsForces(*options) && bytes > options->standardized_bytes) {
      messages->push_back(absl::StrCat("scaled features need ", bytes, " bytes, more than the ",
                                       options->standardized_bytes,
                                       " of --cache_max_bytes: they are scaled batch by batch, as they are read"));
    }
    return RefuseFlags("with files of features, which hold them", {"cached_features"});
  }
  if (!data.descriptor().is_chebyshev()) return RefuseFlags("with --potential=many-body", {"cached_features"});
  if (!EnergiesWithoutForces(data, *options)) {
    return RefuseFlags("where all energies are learned with forces", {"cached_features"});
  }
  if (!FLAGS_cached_features) return absl::OkStatus();
  const int64_t bytes = FeatureBytes(data, *options);
  options->cached_features = bytes <= MaxBytes();
  if (options->cached_features) return absl::OkStatus();
  const std::string text = absl::StrCat("the features of all atoms need ", bytes, " bytes, more than the ", MaxBytes(),
                                        " of --cache_max_bytes");
  if (FlagGiven("cached_features")) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": allow more, or run featurize first"));
  }
  messages->push_back(text + ": they are computed in each epoch");
  return absl::OkStatus();
}

absl::Status CheckNeighborFlags(const AtomicData& data, const AtomisticTaskOptions& options) {
  if (options.angular != AngularMethod::kTriplets) {
    RETURN_IF_ERROR(RefuseFlags("without --angular=triplets", {"cache_triplets"}));
  }
  if (!FLAGS_cache_neighbors && FLAGS_cache_triplets) {
    return absl::InvalidArgumentError(
        "--cache_triplets has no effect with --cache_neighbors=false: triplets count neighbors");
  }
  if (data.has_pairs() && (data.has_triplets() || !FLAGS_cache_triplets)) {
    return RefuseFlags("with files of neighbors, which hold them", {"cache_neighbors", "cache_triplets", "cache_dir"});
  }
  if (!FLAGS_cache_neighbors) return RefuseFlags("with --cache_neighbors=false", {"cache_dir"});
  if (FLAGS_cache_dir.empty()) return absl::OkStatus();
  return options.cached_features ? absl::OkStatus()
                                 : RefuseFlags("with --cache_dir: files are not in memory", {"cache_max_bytes"});
}

absl::Status CacheNeighbors(const AtomisticTaskOptions& options, AtomicData* data, std::vector<std::string>* messages) {
  RETURN_IF_ERROR(CheckNeighborFlags(*data, options));
  const bool forces = options.loss.force_weight > 0 || options.loss.stress_weight > 0;
  if (!forces && (data->has_features() || options.cached_features)) {
    return RefuseFlags("where features are kept and no forces are learned",
                       {"cache_neighbors", "cache_triplets", "cache_dir"});
  }
  const bool triplets = FLAGS_cache_triplets && !data->has_triplets();
  if (!FLAGS_cache_neighbors || (data->has_pairs() && !triplets)) return absl::OkStatus();
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status =
      data->CacheNeighbors(FLAGS_cache_triplets, FLAGS_cache_dir, MaxBytes(), options.num_threads);
  if (absl::IsResourceExhausted(status) && !FlagGiven("cache_neighbors") && !FLAGS_cache_triplets &&
      FLAGS_cache_dir.empty()) {
    messages->push_back(absl::StrCat(status.message(), "; they are found anew in each epoch"));
    return absl::OkStatus();
  }
  if (absl::IsResourceExhausted(status)) return absl::InvalidArgumentError(status.message());
  RETURN_IF_ERROR(status);
  int64_t pairs = 0;
  for (int64_t s = 0; s < data->num_structures(); ++s) pairs += data->pairs(s).num_pairs();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  messages->push_back(absl::StrFormat("%d neighbors in %.2f s, kept in %s", pairs, seconds,
                                      FLAGS_cache_dir.empty() ? "memory" : FLAGS_cache_dir));
  return absl::OkStatus();
}

// Without a word a run with forces takes little more memory than its neighbors, whatever the descriptor.
int64_t GeometryBytes() {
  return FLAGS_cache_max_bytes > 0 ? FLAGS_cache_max_bytes : std::min<int64_t>(64 << 20, MemoryLimit() / 16);
}

absl::Status CacheGeometry(const AtomicData& data, const TrainerOptions& trainer, AtomisticTaskOptions* options,
                           std::vector<std::string>* messages) {
  options->geometry_bytes = 0;
  if (options->loss.force_weight == 0 && options->loss.stress_weight == 0) {
    return RefuseFlags("where no forces are learned", {"cache_geometry"});
  }
  if (trainer.compile_mode != CompileMode::kCompile) {
    return RefuseFlags("where LibTorch's operations train (--compile_mode, --precision, --device)", {"cache_geometry"});
  }
  if (!data.has_pairs()) return RefuseFlags("where neighbors are found anew each time", {"cache_geometry"});
  if (data.exceeds_memory()) {
    return RefuseFlags("on neighbors that take more than half of the memory", {"cache_geometry"});
  }
  if (options->angular == AngularMethod::kTriplets && data.has_triplets()) {
    return RefuseFlags("with listed triplets", {"cache_geometry"});
  }
  if (!FLAGS_cache_geometry) return absl::OkStatus();
  options->geometry_bytes = GeometryBytes();
  // Processes may all be on this machine, and in the end each has met all structures.
  const int processes = trainer.communicator == nullptr ? 1 : trainer.communicator->size();
  int64_t pairs = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) pairs += data.pairs(s).num_pairs();
  double sets = 1;  // nearer sets have their own neighbors, fewer by the volume
  if (data.descriptor().is_chebyshev()) {
    for (const AngularSet& set : data.descriptor().chebyshev().nearer) {
      sets += std::pow(set.cutoff / data.descriptor().cutoff(), 3);
    }
  }
  const auto needed = static_cast<int64_t>(1.25 * sets * (4 * ByteSize(options->precision) + 4) * pairs);
  if (needed > options->geometry_bytes && needed < MemoryLimit() / 4 / processes) {
    messages->push_back(absl::StrFormat(
        "note: the geometry of all structures takes about %d MB, of which %d are kept; with --cache_max_bytes=%d all "
        "is, for shorter epochs and the same bits",
        needed / 1000000, options->geometry_bytes / 1000000, needed * 6 / 5));
  }
  return absl::OkStatus();
}

constexpr const char* kShapeFlags[] = {"rad_order", "rad_cutoff",       "ang_order",    "ang_cutoff", "cutoff",
                                       "max_l",     "radial_functions", "radial_basis", "min_cutoff"};

std::map<std::string, std::string> FlagValues(const DescriptorOptions& descriptor) {
  std::map<std::string, std::string> values = DescriptorFlagValues(descriptor);
  values["min_cutoff"] = absl::StrCat(descriptor.min_cutoff());
  return values;
}

// Returns the descriptor of a model with the species of the flags. INVALID_ARGUMENT naming a flag that asks for another
// one.
absl::StatusOr<DescriptorOptions> DescriptorLike(const DescriptorOptions& model) {
  const std::map<std::string, std::string> of_model = FlagValues(model);
  const auto refuse = [&](absl::string_view given) {
    std::vector<std::string> has;
    for (const auto& [flag, value] : of_model) has.push_back(absl::StrCat("--", flag, "=", value));
    return absl::InvalidArgumentError(absl::StrCat(given, ": the model of --init_from has ", absl::StrJoin(has, " "),
                                                   ": leave the flag out, and the run has the model's descriptor"));
  };
  const PotentialKind kind = PotentialFromFlag();
  if (kind != PotentialKind::kAuto && (kind == PotentialKind::kManyBody) == model.is_chebyshev()) {
    return refuse(absl::StrCat("--potential=", kPotentialNames.Name(kind)));
  }
  for (const char* flag : kShapeFlags) {
    if (FlagGiven(flag) && of_model.count(flag) == 0) {
      return refuse(absl::StrCat("--", flag, "=", gflags::GetCommandLineFlagInfoOrDie(flag).current_value));
    }
  }
  ASSIGN_OR_RETURN(const DescriptorOptions given,
                   model.is_chebyshev() ? DescriptorOptionsFromFlags() : ManyBodyOptionsFromFlags());
  const std::map<std::string, std::string> of_flags = FlagValues(given);
  for (const char* flag : kShapeFlags) {
    if (!FlagGiven(flag) || of_flags.at(flag) == of_model.at(flag)) continue;
    return refuse(absl::StrCat("--", flag, "=", of_flags.at(flag)));
  }
  DescriptorOptions descriptor = model;
  descriptor.set_species(given.species());
  RETURN_IF_ERROR(descriptor.Validate());
  return descriptor;
}

// Energies of which the atomic energies of some elements alone are subtracted cannot be compared with a limit.
absl::Status CheckEnergyLimit(const AtomicData& data, const std::map<uint8_t, double>& of_flags, double max_energy) {
  const std::map<uint8_t, double>& energies = of_flags.empty() ? data.atomic_energies() : of_flags;
  if (energies.empty() || max_energy == std::numeric_limits<double>::infinity()) return absl::OkStatus();
  for (const uint8_t element : data.descriptor().species()) {
    if (energies.count(element) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--max_energy=", max_energy,
                     " limits energies less the atomic energies, and --atomic_energies has "
                     "none for ",
                     ElementSymbol(element), ": give those of all elements, or none"));
  }
  return absl::OkStatus();
}

}  // namespace

bool DescriptorIsOpen() {
  return !FlagGiven("fingerprints") && PotentialFromFlag() == PotentialKind::kAuto &&
         std::none_of(std::begin(kShapeFlags), std::end(kShapeFlags), FlagGiven);
}

absl::StatusOr<AtomicData> ReadTrainingData(absl::Span<const std::string> inputs,
                                            const std::map<uint8_t, double>& atomic_energies,
                                            DescriptorDefaults defaults, PotentialChoice choice,
                                            const DescriptorOptions* of_model) {
  const Selection selection = SelectionFromFlags();
  AtomicDataOptions options;
  // The other flags may say less than a descriptor: what is not said is as the files recorded it.
  if (of_model != nullptr && FlagGiven("species") && !FlagGiven("fingerprints")) {
    ASSIGN_OR_RETURN(options.default_descriptor, DescriptorLike(*of_model));
  } else if (FlagGiven("species") || FlagGiven("fingerprints")) {
    ASSIGN_OR_RETURN(options.default_descriptor, choice == PotentialChoice::kManyBody
                                                     ? ManyBodyOptionsFromFlags()
                                                     : DescriptorOptionsFromFlags(defaults));
    if (choice == PotentialChoice::kManyBodyIfForces &&
        options.default_descriptor->species().size() <= kMostOpenSpecies) {
      ASSIGN_OR_RETURN(options.forces_descriptor, ManyBodyOptionsFromFlags());
    }
  }
  ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  ASSIGN_OR_RETURN(options.config_weights, ParseConfigWeights(FLAGS_config_weights));
  options.config_key = selection.config_key.value_or(kDefaultConfigKey);
  options.weight_key = selection.weight_key.value_or("");
  options.atomic_energies = atomic_energies;
  options.max_energy = selection.max_energy;
  options.max_forces = selection.max_forces;
  options.num_threads = options.preload.num_threads = ThreadsFromFlags();
  ASSIGN_OR_RETURN(options.preload.preload, kPreloadNames.Parse(FLAGS_preload));
  absl::StatusOr<AtomicData> read = AtomicData::Read(inputs, options);
  if (absl::IsResourceExhausted(read.status())) return absl::InvalidArgumentError(read.status().message());
  ASSIGN_OR_RETURN(AtomicData data, std::move(read));
  RETURN_IF_ERROR(CheckEnergyLimit(data, atomic_energies, selection.max_energy));
  if (data.from_structures() && FLAGS_cache_dir.empty()) {
    RETURN_IF_ERROR(RefuseFlags("on structures, which are read into memory anyway", {"preload"}));
  }
  if (options.preload.preload == Preload::kShm) {
    PrintMessage(absl::StrCat("--preload=shm: copies are kept in ", PreloadDirectory(options.preload),
                              " until the machine restarts or they are removed"));
  }
  if (!data.from_structures()) {
    RETURN_IF_ERROR(RefuseStructureReaderFlags("on files that were made from structures"));
    if (selection.config_key.has_value() && *selection.config_key != data.config_key()) {
      return absl::InvalidArgumentError(absl::StrCat("--config_key=", *selection.config_key, ": ", inputs[0],
                                                     " was made with --config_key=", data.config_key()));
    }
  }
  if (DescriptorFlagsGiven()) RETURN_IF_ERROR(DescriptorOptionsFromFlags(data.descriptor(), inputs[0]).status());
  if (data.num_filtered() > 0) {
    PrintMessage(
        absl::StrCat(data.num_filtered(), " of ", data.num_read(), " structures are left out by ", data.filters()));
  }
  return data;
}

std::map<std::string, std::string> DataConfig(const AtomicData& data) {
  std::map<std::string, std::string> config;
  for (const char* name : {"config_weights", "weight_key", "energy_key", "force_key", "stress_key", "virial_key",
                           "runner_units", "xsf_forces", "max_energy", "max_forces"}) {
    const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name);
    if (flag.current_value != flag.default_value) config[name] = flag.current_value;
  }
  // Features were made with theirs, and hashed.
  if (data.has_features()) return config;
  const DescriptorOptions& descriptor = data.descriptor();
  // Elements are in the order that features know them by.
  config["species"] = absl::StrJoin(descriptor.species(), ",", [](std::string* out, uint8_t element) {
    absl::StrAppend(out, ElementSymbol(element));
  });
  const DescriptorOptions usual = descriptor.is_chebyshev() ? DescriptorOptions() : DescriptorOptions(MomentOptions());
  const auto usual_values = DescriptorFlagValues(usual);
  for (const auto& [flag, value] : DescriptorFlagValues(descriptor)) {
    if (flag == "potential" ? !descriptor.is_chebyshev() : value != usual_values.at(flag)) config[flag] = value;
  }
  if (descriptor.min_cutoff() != usual.min_cutoff()) config["min_cutoff"] = absl::StrCat(descriptor.min_cutoff());
  return config;
}

absl::StatusOr<std::vector<std::string>> CacheFromFlags(const TrainerOptions& trainer, AtomicData* data,
                                                        AtomisticTaskOptions* options) {
  if (FLAGS_cache_max_bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cache_max_bytes=", FLAGS_cache_max_bytes, ": expected bytes, or 0 for half of the memory"));
  }
  std::vector<std::string> messages;
  RETURN_IF_ERROR(CacheFeatures(*data, options, &messages));
  RETURN_IF_ERROR(CacheNeighbors(*options, data, &messages));
  RETURN_IF_ERROR(CacheGeometry(*data, trainer, options, &messages));
  if (options->angular == AngularMethod::kTriplets && data->has_triplets()) {
    messages.push_back(
        "note: triplets are read from a list, which takes 2 to 4 times as long as finding them in the neighbors: "
        "leave out --triplets and --cache_triplets, and --angular=triplets for the fastest");
  }
  return messages;
}

}  // namespace rutile
