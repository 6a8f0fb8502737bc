// Structures from files, in order, through a computation on several threads: what makes features or neighbors.

#ifndef RUTILE_LIB_NEIGHBOR_STRUCTURE_STREAM_H_
#define RUTILE_LIB_NEIGHBOR_STRUCTURE_STREAM_H_

#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct StructureStreamOptions {
  StructureReaderOptions reader;
  std::string config_key = "config_type";     // key of a frame that groups it, for splits and per-group errors
  std::string weight_key;                     // key of a frame with its weight in training; "": there are no weights
  std::map<uint8_t, double> atomic_energies;  // eV
  // Structures above are left out: energy per atom (eV, less the atomic energies), largest force component
  // (eV/Angstrom).
  double max_energy = std::numeric_limits<double>::infinity();
  double max_forces = std::numeric_limits<double>::infinity();
  // Every num_shards-th structure from number shard on (from 1): the union of all shards is the whole.
  int shard = 1;
  int num_shards = 1;
  int num_threads = 1;
  std::function<void(int64_t structures)> on_progress;  // so many more are done; may be empty
};

struct StructureStreamStats {
  int64_t structures = 0;  // that went through
  int64_t atoms = 0;
  int64_t filtered = 0;  // left out by max_energy or max_forces
  int64_t without_energy = 0;
  int64_t without_force = 0;
  int64_t without_stress = 0;
  int64_t without_weight = 0;                                      // weigh 1, where weight_key is given
  int64_t without_config = 0;                                      // have no config_key
  double lowest_energy = std::numeric_limits<double>::infinity();  // eV per atom, less the atomic energies
  double highest_energy = -std::numeric_limits<double>::infinity();
  std::bitset<119> elements;  // of the atoms, by atomic number
};

struct StreamedStructure {
  Structure structure;  // info["config_type"] is the value of config_key, "" without one
  double weight = 1;
  bool has_weight = false;
  std::shared_ptr<const NeighborFile> neighbors;  // where it comes from, if that is a file of neighbors
  int64_t index = 0;                              // its number there
};

// What is done with the structures.
class StructureConsumer {
 public:
  virtual ~StructureConsumer() = default;
  // Whether a file of neighbors will do as input; its structures come next.
  virtual absl::Status Accept(const NeighborFile& file) = 0;
  // The next structures have the slots 0 to n - 1.
  virtual void Reserve(int64_t n) = 0;
  // Called from threads 0 to num_threads - 1, in any order.
  virtual absl::Status Compute(const StreamedStructure& in, int64_t slot, int thread) = 0;
  // Called for each structure in order, from one thread, after its Compute.
  virtual absl::Status Emit(const StreamedStructure& in, int64_t slot) = 0;
};

// Reads every input: a path of structures in any format or of neighbors (atomistic.neighbors/1), or "-" (structures).
// Structures are computed in chunks of about `chunk_atoms`, which bound the memory. What is emitted does not depend on
// the number of threads, nor does the error that is returned: the first in the input. INVALID_ARGUMENT also: nothing is
// left; a weight that is no number or below 0; weight_key that no structure has (unless shards are made); files of
// neighbors with another config_key or weight_key.
absl::StatusOr<StructureStreamStats> StreamStructures(absl::Span<const std::string> inputs,
                                                      const StructureStreamOptions& options, int64_t chunk_atoms,
                                                      StructureConsumer* consumer);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_STRUCTURE_STREAM_H_
