// Streams structures from files, in order, through a computation on several threads. featurize and cache-neighbors are
// made of it.

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

// What to read of the inputs, which structures to leave out, and on how many threads to compute.
struct StructureStreamOptions {
  StructureReaderOptions reader;
  std::string config_key = "config_type";     // frame key that names its group, for splits and per-group errors
  std::string weight_key;                     // frame key with its training weight; "": no weights
  std::map<uint8_t, double> atomic_energies;  // eV
  // Structures above these limits are left out, but for single atoms of config type IsolatedAtom: energy per atom (eV,
  // less the atomic energies), and largest force component (eV/Angstrom).
  double max_energy = std::numeric_limits<double>::infinity();
  double max_forces = std::numeric_limits<double>::infinity();
  // Keeps every num_shards-th structure, starting with number `shard` (counted from 1). The union of all shards is the
  // whole input.
  int shard = 1;
  int num_shards = 1;
  int num_threads = 1;
  std::function<void(int64_t structures)>
      on_progress;  // called with the number of newly finished structures; may be empty
  // Called for each structure delivered, in input order, from one thread; may be empty.
  std::function<void(const Structure& structure)> on_structure;
};

// Counts of the structures that a stream delivered, for the tool's summary.
struct StructureStreamStats {
  int64_t structures = 0;  // number delivered
  int64_t atoms = 0;
  int64_t filtered = 0;  // number left out by max_energy or max_forces
  int64_t without_energy = 0;
  int64_t without_force = 0;
  int64_t without_stress = 0;
  int64_t without_weight = 0;  // without the weight_key that was given; they weigh 1
  int64_t without_config = 0;  // without config_key
  double lowest_energy = std::numeric_limits<double>::infinity();  // eV per atom, less the atomic energies
  double highest_energy = -std::numeric_limits<double>::infinity();
  std::bitset<119> elements;  // elements of the atoms, by atomic number
};

// A structure on its way from a file to the consumer.
struct StreamedStructure {
  Structure structure;  // info["config_type"] is the value of config_key, "" without one
  double weight = 1;
  bool has_weight = false;
  std::shared_ptr<const NeighborFile> neighbors;  // its source, if that is a file of neighbors
  int64_t index = 0;                              // its number in that file
};

// Receives the structures of a stream: computes something of each in parallel, then emits the results in order.
class StructureConsumer {
 public:
  virtual ~StructureConsumer() = default;
  // Returns OK if a file of neighbors is accepted as input; its structures come next.
  virtual absl::Status Accept(const NeighborFile& file) = 0;
  // Announces a chunk of n structures, which have the slots 0 to n - 1.
  virtual void Reserve(int64_t n) = 0;
  // Computes the result of one structure and stores it in its slot. Called from threads 0 to num_threads - 1, in any
  // order.
  virtual absl::Status Compute(const StreamedStructure& in, int64_t slot, int thread) = 0;
  // Emits the result in a slot. Called for each structure in input order, from one thread, after its Compute.
  virtual absl::Status Emit(const StreamedStructure& in, int64_t slot) = 0;
};

// Reads every input and passes its structures to `consumer`. An input is a path of structures in any format or of
// neighbors (atomistic.neighbors/1), or "-" (structures). Structures are computed in chunks of about `chunk_atoms`
// atoms, which bound the memory. The output does not depend on the number of threads, nor does the error returned,
// which is the first in the input. Also INVALID_ARGUMENT: no structure is left; a weight that is no number or below 0;
// a weight_key that no structure has (unless there are several shards); files of neighbors with another config_key or
// weight_key.
absl::StatusOr<StructureStreamStats> StreamStructures(absl::Span<const std::string> inputs,
                                                      const StructureStreamOptions& options, int64_t chunk_atoms,
                                                      StructureConsumer* consumer);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_STRUCTURE_STREAM_H_
