// The inputs of AtomicData, opened, and found to go together.

#ifndef RUTILE_LIB_POTENTIAL_DATA_ATOMIC_INPUTS_H_
#define RUTILE_LIB_POTENTIAL_DATA_ATOMIC_INPUTS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/preload.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/data/atomic_block.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct AtomicDataOptions {
  // The descriptor to use: files that recorded one must have the same. Without it theirs is taken.
  std::optional<ChebyshevOptions> descriptor;
  // What is used when there is neither: one of the three is needed.
  std::optional<ChebyshevOptions> default_descriptor;
  StructureReaderOptions reader;           // of raw structures
  std::string config_key = "config_type";  // likewise
  // Key of a frame with its weight; "": all weigh 1. Files must have weights of that key.
  std::string weight_key;
  // A glob of config types and the factor of their weight; the first that fits counts, and each must fit something.
  std::vector<std::pair<std::string, double>> config_weights;
  std::map<uint8_t, double> atomic_energies;  // eV; for max_energy; empty: those of the files
  // Structures above are left out: energy per atom (eV, less the atomic energies), largest force component
  // (eV/Angstrom).
  double max_energy = std::numeric_limits<double>::infinity();
  double max_forces = std::numeric_limits<double>::infinity();
  // What becomes of files of features and neighbors, those of CacheNeighbors included.
  PreloadOptions preload;
  int num_threads = 1;
};

struct AtomicInputs {
  ChebyshevOptions descriptor;
  // Structures or features, in the order given; empty when only neighbors are. `species` counts the descriptor's.
  std::vector<std::shared_ptr<const AtomicBlock>> blocks;
  std::vector<std::shared_ptr<const AtomicBlock>> neighbors;
};

// The errors of AtomicData::Read, but for those about single structures.
absl::StatusOr<AtomicInputs> ReadAtomicInputs(absl::Span<const std::string> paths, const AtomicDataOptions& options);

// A file of features or neighbors alone, its `species` counting the descriptor's.
absl::StatusOr<std::shared_ptr<const AtomicBlock>> ReadBlock(const std::string& path,
                                                             const ChebyshevOptions& descriptor,
                                                             const PreloadOptions& preload);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_INPUTS_H_
