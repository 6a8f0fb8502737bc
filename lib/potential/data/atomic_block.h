// The structures of one input, of any kind, as columns. AtomicData is put together from such blocks.

#ifndef RUTILE_LIB_POTENTIAL_DATA_ATOMIC_BLOCK_H_
#define RUTILE_LIB_POTENTIAL_DATA_ATOMIC_BLOCK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

enum class AtomicKind { kStructures, kFeatures, kNeighbors };

// Holds S structures with A atoms. Columns point into a mapped file or into memory that `owner` keeps alive.
struct AtomicBlock {
  AtomicKind kind = AtomicKind::kStructures;
  std::string path;                       // of the input, for messages
  std::string command;                    // that made the file; "" for structures, or if the file does not record it
  std::vector<std::string> names;         // [S]
  std::vector<std::string> config_types;  // the values that `config` indexes
  std::string config_key;
  std::string weight_key;                       // "" if none was given
  LabelKeys label_keys;                         // that the file recorded; empty for structures
  std::map<uint8_t, double> atomic_energies;    // eV by atomic number; may be empty
  std::optional<DescriptorOptions> descriptor;  // if the file recorded one
  std::vector<uint8_t> elements;                // the atomic numbers that `species` indexes

  absl::Span<const int64_t> atom_offset;                     // [S + 1]
  absl::Span<const uint8_t> species;                         // [A]
  absl::Span<const double> position;                         // [3A] Angstrom
  absl::Span<const double> force;                            // [3A] eV/Angstrom; only meaningful where has_force
  absl::Span<const double> cell;                             // [9S] Angstrom
  absl::Span<const bool> pbc;                                // [3S]
  absl::Span<const double> energy;                           // [S] eV, NaN without one
  absl::Span<const double> stress;                           // [9S] eV/Angstrom^3; only meaningful where has_stress
  absl::Span<const int32_t> config;                          // [S]
  absl::Span<const bool> has_energy, has_force, has_stress;  // [S]
  absl::Span<const double> weight;                           // [S] >= 0; empty if all weights are 1

  Tensor feature;  // set for kFeatures: F32 or F64 [A, F]

  // Neighbors, set for kNeighbors; see lib/neighbor/pair_view.h.
  double cutoff = 0;                      // Angstrom
  absl::Span<const int64_t> pair_offset;  // [A + 1]
  absl::Span<const int32_t> pair_j;
  absl::Span<const int16_t> pair_shift;
  double triplet_cutoff = 0;                 // Angstrom; 0 without triplets
  absl::Span<const int64_t> triplet_offset;  // [A + 1]
  absl::Span<const uint16_t> triplet_a, triplet_b;

  std::shared_ptr<const void> owner;

  int64_t num_structures() const { return static_cast<int64_t>(names.size()); }
};

// Decodes a tensor file of kind atomistic.features/1 or atomistic.neighbors/1. INVALID_ARGUMENT for another kind and
// for what the readers of these kinds refuse.
absl::StatusOr<AtomicBlock> BlockFromTensorFile(TensorFile file);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_BLOCK_H_
