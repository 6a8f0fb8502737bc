// Structures of one input, whatever it was, as columns: what AtomicData is put together from.

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
#include "lib/descriptor/chebyshev_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

enum class AtomicKind { kStructures, kFeatures, kNeighbors };

// S structures, A atoms. Columns point into a mapped file or into memory that `owner` keeps.
struct AtomicBlock {
  AtomicKind kind = AtomicKind::kStructures;
  std::string path;                       // of the input, for messages
  std::string command;                    // that made a file; "" for structures, and where the file does not say
  std::vector<std::string> names;         // [S]
  std::vector<std::string> config_types;  // what `config` counts
  std::string config_key;
  std::string weight_key;                      // "": none was given
  std::map<uint8_t, double> atomic_energies;   // eV by atomic number; empty: none
  std::optional<ChebyshevOptions> descriptor;  // as recorded
  std::vector<uint8_t> elements;               // atomic numbers that `species` counts

  absl::Span<const int64_t> atom_offset;                     // [S + 1]
  absl::Span<const uint8_t> species;                         // [A]
  absl::Span<const double> position;                         // [3A] Angstrom
  absl::Span<const double> force;                            // [3A] eV/Angstrom; to be read where has_force
  absl::Span<const double> cell;                             // [9S] Angstrom
  absl::Span<const bool> pbc;                                // [3S]
  absl::Span<const double> energy;                           // [S] eV, NaN without one
  absl::Span<const double> stress;                           // [9S] eV/Angstrom^3; to be read where has_stress
  absl::Span<const int32_t> config;                          // [S]
  absl::Span<const bool> has_energy, has_force, has_stress;  // [S]
  absl::Span<const double> weight;                           // [S] >= 0, or empty: all weigh 1

  Tensor feature;  // kFeatures: F32 or F64 [A, F]

  // kNeighbors; see lib/neighbor/pair_view.h.
  double cutoff = 0;                      // Angstrom
  absl::Span<const int64_t> pair_offset;  // [A + 1]
  absl::Span<const int32_t> pair_j;
  absl::Span<const int16_t> pair_shift;
  double triplet_cutoff = 0;                 // Angstrom; 0: no triplets
  absl::Span<const int64_t> triplet_offset;  // [A + 1]
  absl::Span<const uint16_t> triplet_a, triplet_b;

  std::shared_ptr<const void> owner;

  int64_t num_structures() const { return static_cast<int64_t>(names.size()); }
};

// Decodes a tensor file of kind atomistic.features/1 or atomistic.neighbors/1. INVALID_ARGUMENT for another kind and
// for what the kinds' own readers refuse.
absl::StatusOr<AtomicBlock> BlockFromTensorFile(TensorFile file);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_BLOCK_H_
