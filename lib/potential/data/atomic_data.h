// Reads structures to train on from raw structures, features, neighbors, or features and neighbors of the same
// structures, and presents them as one data set.
//
// Example:
//
//   ASSIGN_OR_RETURN(AtomicData data, AtomicData::Read({"train.safetensors"}, AtomicDataOptions()));
//   RETURN_IF_ERROR(data.CacheNeighbors(/*triplets=*/false, /*cache_dir=*/"", /*max_bytes=*/1 << 30, num_threads));
//   for (int64_t s = 0; s < data.num_structures(); ++s) {
//     if (!data.has_energy(s)) continue;
//     Add(data.energy(s) / data.num_atoms(s), data.pairs(s), data.force(s));
//   }

#ifndef RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_
#define RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/neighbor/pair_view.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/potential/data/atomic_labels.h"
#include "lib/structure/label_keys.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A data set of structures from one or more inputs, in the order given, without those that the filters leave out.
// Functions take places in this set, from 0 on. People know structures by their number in what was read, from 0 over
// all inputs, filtered or not: number() and Find() translate. Files stay mapped: their contents are not copied.
class AtomicData {
 public:
  // Reads the inputs. INVALID_ARGUMENT: no input; kinds that cannot be used together; files whose descriptors, feature
  // types, config keys or atomic energies differ (naming both); features and neighbors of different structures;
  // neighbors to a smaller cutoff than the descriptor's; no descriptor; an element that the descriptor lacks; no
  // structure left after the filters.
  static absl::StatusOr<AtomicData> Read(absl::Span<const std::string> inputs, const AtomicDataOptions& options);

  const DescriptorOptions& descriptor() const;
  const std::map<uint8_t, double>& atomic_energies() const;  // eV, recorded in the files; may be empty
  // Returns the commands that made the inputs, ready to be pasted into a shell; none for raw structures.
  const std::vector<std::string>& commands() const;
  // Returns by which names the labels of prepared files were read; empty for raw structures and if the files differ.
  const LabelKeys& label_keys() const;
  bool from_structures() const;           // true for raw structures, false for files made from them
  const std::string& config_key() const;  // the key whose values config_type() returns
  int64_t num_filtered() const;           // structures left out by max_energy or max_forces
  const std::string& filters() const;     // the limits and the range of what they were compared with; "" without

  // ---- numbers of structures over all that was read
  int64_t num_read() const;                           // filtered structures included
  int64_t number(int64_t s) const;                    // of structure s
  std::optional<int64_t> Find(int64_t number) const;  // its place here, or nothing if a filter left it out
  std::string NameOfNumber(int64_t number) const;     // of any that was read
  std::string HashOfNumber(int64_t number) const;     // StructureHash of any that was read

  int64_t num_structures() const;
  int64_t num_atoms(int64_t s) const;
  absl::Span<const uint8_t> species(int64_t s) const;  // [N] indices into the descriptor's species
  bool has_energy(int64_t s) const;
  double energy(int64_t s) const;  // eV, total; NaN without one
  const std::string& name(int64_t s) const;
  const std::string& path(int64_t s) const;  // of the input that it was read from; "standard input" for "-"
  const std::string& config_type(int64_t s) const;
  double weight(int64_t s) const;  // >= 0; 1 by default

  // ---- features, if one of the inputs is a file of features
  bool has_features() const;
  DType feature_dtype() const;  // F32 or F64
  // Returns features [N, F], not scaled. CHECK-fails when T is not the type of feature_dtype().
  template <typename T>
  absl::Span<const T> features(int64_t s) const;

  // ---- geometry
  absl::Span<const double> position(int64_t s) const;  // [3N] Angstrom
  Matrix3 cell(int64_t s) const;                       // Angstrom
  std::array<bool, 3> pbc(int64_t s) const;
  absl::Span<const double> force(int64_t s) const;   // [3N] eV/Angstrom, or empty
  bool has_stress(int64_t s) const;                  // only of cells that are periodic in all directions
  bool records_stress(int64_t s) const;              // of any cell
  absl::Span<const double> stress(int64_t s) const;  // [9] eV/Angstrom^3, or empty

  // ---- neighbors, if they are cached: in a file, or by CacheNeighbors
  bool has_pairs() const;
  PairView pairs(int64_t s) const;  // to at least the descriptor's cutoff
  // True if the neighbor files take more than half of the memory of the machine, so that they are read from disk again
  // in every epoch.
  bool exceeds_memory() const;
  // If exceeds_memory(), starts reading what these structures need. Otherwise does nothing.
  void Prefetch(absl::Span<const int64_t> structures) const;
  bool has_triplets() const;  // within the descriptor's angular cutoff
  TripletView triplets(int64_t s) const;
  // Finds the pairs of all structures and caches them, 10 bytes each: in memory or, unless `cache_dir` is "", in a
  // mapped file in that directory, which is written if it does not exist yet (it is named by the hash of structures and
  // cutoff). RESOURCE_EXHAUSTED: the pairs in memory would need more than `max_bytes`. Errors of the neighbor search
  // name the structure.
  absl::Status CacheNeighbors(bool triplets, absl::string_view cache_dir, int64_t max_bytes, int num_threads);
  // Finds the pairs of one structure, for data without cached pairs. Thread-safe.
  absl::Status FindPairs(int64_t s, std::vector<int64_t>* offset, std::vector<int32_t>* j,
                         std::vector<int16_t>* shift) const;

  // Returns the same structures with another descriptor of the same species, which is that of pairs and features from
  // then on. CHECK-fails for files made from structures, after CacheNeighbors, and for other species.
  AtomicData WithDescriptor(const DescriptorOptions& descriptor) const;

  // Returns the same data with other energies, forces and stresses. A structure has the kinds of labels that it had:
  // those of other kinds are ignored. labels: as LabelsOf returns them, or CHECK-fails.
  AtomicData WithLabels(AtomicLabels labels) const;

  // Returns [structures] true where the value of `key` matches the glob `pattern`. INVALID_ARGUMENT when the data was
  // made with another --config_key, or when nothing matches.
  absl::StatusOr<std::vector<bool>> Matches(absl::string_view key, absl::string_view pattern) const;

 private:
  struct Impl;
  AtomicData() = default;
  std::shared_ptr<const Impl> impl_;  // shared: copying an AtomicData copies no data
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ATOMIC_DATA_H_
