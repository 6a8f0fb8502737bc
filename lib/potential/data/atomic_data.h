// Structures to train on, from whatever was given, seen as one set: raw structures, features, neighbors, or features
// and neighbors of the same structures together.

#ifndef RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_
#define RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/neighbor/pair_view.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Structures are numbered from 0 over all inputs in the order given, those left out not counted. Files stay mapped:
// what is in them is not copied.
class AtomicData {
 public:
  // INVALID_ARGUMENT: no input; kinds that cannot be used together; files whose descriptors, feature types, config keys
  // or atomic energies differ (naming both); features and neighbors of different structures; neighbors to a smaller
  // cutoff than the descriptor's; no descriptor; an element that it does not have; nothing left after the filters.
  static absl::StatusOr<AtomicData> Read(absl::Span<const std::string> inputs, const AtomicDataOptions& options);

  const ChebyshevOptions& descriptor() const;
  const std::map<uint8_t, double>& atomic_energies() const;  // eV, of the files; may be empty
  // The commands that made the inputs, as they can be pasted; none for raw structures.
  const std::vector<std::string>& commands() const;
  bool from_structures() const;           // rather than from files that were made from structures
  const std::string& config_key() const;  // of what config types are the values
  int64_t num_filtered() const;           // left out by max_energy or max_forces

  int64_t num_structures() const;
  int64_t num_atoms(int64_t s) const;
  absl::Span<const uint8_t> species(int64_t s) const;  // [N] indices into the descriptor's species
  bool has_energy(int64_t s) const;
  double energy(int64_t s) const;  // eV, total; NaN without one
  const std::string& name(int64_t s) const;
  const std::string& config_type(int64_t s) const;
  double weight(int64_t s) const;  // >= 0; 1 where none is given

  // ---- features, when a file of them is among the inputs
  bool has_features() const;
  DType feature_dtype() const;  // F32 or F64
  // [N, F], not scaled. CHECK-fails when T is not the type of feature_dtype().
  template <typename T>
  absl::Span<const T> features(int64_t s) const;

  // ---- geometry
  absl::Span<const double> position(int64_t s) const;  // [3N] Angstrom
  Matrix3 cell(int64_t s) const;                       // Angstrom
  std::array<bool, 3> pbc(int64_t s) const;
  absl::Span<const double> force(int64_t s) const;   // [3N] eV/Angstrom, or empty
  bool has_stress(int64_t s) const;                  // one that means anything: the cell is periodic in all directions
  bool records_stress(int64_t s) const;              // of whatever cell
  absl::Span<const double> stress(int64_t s) const;  // [9] eV/Angstrom^3, or empty

  // ---- neighbors, when they are cached: in a file, or by CacheNeighbors
  bool has_pairs() const;
  PairView pairs(int64_t s) const;  // to at least the descriptor's cutoff
  // The neighbors' files take more than half of the memory that there is: reading them goes on all the time.
  bool exceeds_memory() const;
  // Then, begins to read what these structures need; else nothing.
  void Prefetch(absl::Span<const int64_t> structures) const;
  bool has_triplets() const;  // of the descriptor's angular cutoff
  TripletView triplets(int64_t s) const;
  // Finds the pairs of all structures and keeps them, 10 bytes each, or maps them from `cache_dir` (not ""), where they
  // are written when they are not there yet (named by the hash of structures and cutoff). RESOURCE_EXHAUSTED: they
  // would need more than `max_bytes`. The neighbors' errors name the structure.
  absl::Status CacheNeighbors(bool triplets, absl::string_view cache_dir, int64_t max_bytes, int num_threads);
  // The pairs of one structure, found now. For data without pairs; thread-safe.
  absl::Status FindPairs(int64_t s, std::vector<int64_t>* offset, std::vector<int32_t>* j,
                         std::vector<int16_t>* shift) const;

  // [structures]: whose value of `key` fits the glob. INVALID_ARGUMENT when the data was made with another
  // --config_key, or when nothing fits.
  absl::StatusOr<std::vector<bool>> Matches(absl::string_view key, absl::string_view pattern) const;

 private:
  struct Impl;
  AtomicData() = default;
  std::shared_ptr<const Impl> impl_;  // shared: copying an AtomicData copies no data
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_
