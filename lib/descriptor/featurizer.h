// From files of structures to a file of features: reading, neighbours, descriptors and writing as one stream.

#ifndef RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_
#define RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/structure/species_map.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct FeaturizeOptions {
  ChebyshevOptions descriptor;
  AngularMethod angular = AngularMethod::kMoments;
  DType precision = DType::kF32;
  int num_threads = 1;
  StructureReaderOptions reader;
  std::string config_key = "config_type";     // key of a frame that groups it, for splits and per-group errors
  std::map<uint8_t, double> atomic_energies;  // eV
  // Structures above are left out: energy per atom (eV, less the atomic energies), largest force component
  // (eV/Angstrom).
  double max_energy = std::numeric_limits<double>::infinity();
  double max_forces = std::numeric_limits<double>::infinity();
  // Every num_shards-th structure from number shard on (from 1): the union of all shards is the whole.
  int shard = 1;
  int num_shards = 1;
  std::function<void(int64_t structures)> on_progress;  // so many more are done; may be empty
};

struct FeaturizeStats {
  int64_t structures = 0;  // written
  int64_t atoms = 0;
  int64_t pairs = 0;     // neighbours within the cutoff, i -> j and j -> i
  int64_t filtered = 0;  // left out by max_energy or max_forces
  int64_t without_energy = 0;
  int64_t without_force = 0;
  int64_t too_close = 0;        // structures with a pair at or below min_cutoff, which the descriptor does not see
  std::string first_too_close;  // its name
  double lowest_energy = std::numeric_limits<double>::infinity();  // eV per atom, less the atomic energies
  double highest_energy = -std::numeric_limits<double>::infinity();
};

// One structure with its features, valid during the call. The features are in the span of the options' precision.
struct FeaturizedStructure {
  const Structure& structure;
  absl::Span<const uint8_t> species;
  absl::Span<const float> features32;
  absl::Span<const double> features64;
};

// Reads every input (path or "-") and calls `sink` for each structure in order, from one thread.
absl::StatusOr<FeaturizeStats> ForEachFeaturized(absl::Span<const std::string> inputs, const FeaturizeOptions& options,
                                                 const std::function<absl::Status(const FeaturizedStructure&)>& sink);

// The same, writing a file of kind atomistic.features/1 to `output` ("-" is standard output).
// The content does not depend on num_threads. Nothing appears under `output` unless all succeeded.
absl::StatusOr<FeaturizeStats> Featurize(absl::Span<const std::string> inputs, absl::string_view output,
                                         const FeaturizeOptions& options, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_
