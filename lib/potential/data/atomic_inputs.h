// Opens the inputs of AtomicData and checks that they can be used together.

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
#include "lib/descriptor/descriptor_options.h"
#include "lib/file/preload.h"
#include "lib/potential/data/atomic_block.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct AtomicDataOptions {
  // The descriptor to use; files that recorded one must agree with it. If not set, the recorded one is used.
  std::optional<DescriptorOptions> descriptor;
  // The descriptor to use if neither `descriptor` is set nor a file recorded one. One of the three is needed.
  std::optional<DescriptorOptions> default_descriptor;
  // The descriptor of raw structures in place of `default_descriptor` if at least one of them has forces. It must have
  // the same species.
  std::optional<DescriptorOptions> forces_descriptor;
  StructureReaderOptions reader;           // for raw structures
  std::string config_key = "config_type";  // for raw structures
  // The key of a frame under which its weight is found, or "": all weights are 1. Files must have weights of that key.
  std::string weight_key;
  // Pairs of a glob of config types and a factor of their weight. The first glob that matches counts, and each glob
  // must match some structure.
  std::vector<std::pair<std::string, double>> config_weights;
  std::map<uint8_t, double> atomic_energies;  // eV, for max_energy; if empty, those of the files
  // Structures above these limits are left out: energy per atom (eV, less the atomic energies) and largest force
  // component (eV/Angstrom).
  double max_energy = std::numeric_limits<double>::infinity();
  double max_forces = std::numeric_limits<double>::infinity();
  // How files of features and neighbors, those of CacheNeighbors included, are brought into memory.
  PreloadOptions preload;
  int num_threads = 1;
};

struct AtomicInputs {
  DescriptorOptions descriptor;
  // The inputs of structures or features, in the order given; empty when all inputs are neighbors. `species` indexes
  // the descriptor's species.
  std::vector<std::shared_ptr<const AtomicBlock>> blocks;
  std::vector<std::shared_ptr<const AtomicBlock>> neighbors;
};

// Opens the inputs. Its errors are those of AtomicData::Read, except those about single structures.
absl::StatusOr<AtomicInputs> ReadAtomicInputs(absl::Span<const std::string> paths, const AtomicDataOptions& options);

// Reads one file of features or neighbors, with `species` indexing the descriptor's species.
absl::StatusOr<std::shared_ptr<const AtomicBlock>> ReadBlock(const std::string& path,
                                                             const DescriptorOptions& descriptor,
                                                             const PreloadOptions& preload);

// Returns by which keys the labels of all blocks were read. If they differ, returns none, and warns.
LabelKeys CommonLabelKeys(absl::Span<const std::shared_ptr<const AtomicBlock>> blocks,
                          const std::function<void(const std::string&)>& on_warning);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_INPUTS_H_
