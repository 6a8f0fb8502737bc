// Reads and writes files of kind atomistic.neighbors/1, which cache neighbor lists so that training need not search
// again.
//
// NeighborSchema() declares the content, and docs/formats.md prints it: pairs as index and lattice shift, 10 bytes
// each, and the structures themselves, so that training needs no other file.
//
//   ASSIGN_OR_RETURN(NeighborWriter writer, NeighborWriter::Create(path, options));
//   RETURN_IF_ERROR(writer.Append(structure, list, /*triplets=*/nullptr));  // for each structure
//   RETURN_IF_ERROR(writer.Finish(provenance));
//
//   ASSIGN_OR_RETURN(const NeighborFile file, ReadNeighbors(path));
//   ListFromPairs(structure.position, structure.cell, file.pairs(s), cutoff, &list);

#ifndef RUTILE_LIB_NEIGHBOR_NEIGHBOR_FILE_H_
#define RUTILE_LIB_NEIGHBOR_NEIGHBOR_FILE_H_

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
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/neighbor/structure_file.h"
#include "lib/neighbor/triplets.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The tensors and metadata of the file.
const Schema& NeighborSchema();

// A file of neighbors as read. The spans point into the file's bytes, which copies share.
struct NeighborFile : StructureFile {
  double cutoff = 0;             // Angstrom; the file contains all pairs up to this distance
  std::vector<uint8_t> species;  // atomic numbers that the tensor `species` indexes
  std::string descriptor;        // as in features files (DescriptorOptions::FromJson), or "" if none was recorded
  double triplet_cutoff = 0;     // Angstrom; 0: no triplets

  absl::Span<const int64_t> atom_offset;            // [S + 1]
  absl::Span<const uint8_t> species_index;          // [A]
  absl::Span<const double> position;                // [3A]
  absl::Span<const int64_t> pair_offset;            // [A + 1]
  absl::Span<const int32_t> pair_j;                 // [P]
  absl::Span<const int16_t> pair_shift;             // [3P]
  absl::Span<const int64_t> triplet_offset;         // [A + 1], or empty
  absl::Span<const uint16_t> triplet_a, triplet_b;  // [T]

  int64_t num_atoms() const { return static_cast<int64_t>(species_index.size()); }
  int64_t num_pairs() const { return static_cast<int64_t>(pair_j.size()); }
  PairView pairs(int64_t s) const;
  TripletView triplets(int64_t s) const;  // empty without triplets
};

// Reads a file. Fails with NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule. Every value that code uses as
// an index is checked (offsets that do not rise, a neighbor outside its structure, a triplet outside its atom's
// neighbors), at the speed of memory.
absl::StatusOr<NeighborFile> ReadNeighbors(absl::string_view path);
// Decodes and checks a file whose tensors were read already, with the errors of ReadNeighbors.
absl::StatusOr<NeighborFile> DecodeNeighbors(TensorFile file);

// What a NeighborWriter records beside the lists.
struct NeighborFileOptions {
  double cutoff = 0;                          // Angstrom; cutoff of the lists that will be appended
  std::vector<uint8_t> species;               // atomic numbers; empty: the elements in order of appearance
  std::string descriptor;                     // JSON to record, or ""
  std::optional<DType> vectors;               // also writes r_ij, as F32 or F64
  double triplet_cutoff = 0;                  // Angstrom; 0: triplets are not written
  bool weights = false;                       // true if structures have weights
  std::map<uint8_t, double> atomic_energies;  // eV
};

// Writes structures and their neighbors, one structure after another. Its memory does not grow with the number of
// pairs.
class NeighborWriter {
 public:
  static absl::StatusOr<NeighborWriter> Create(absl::string_view path, const NeighborFileOptions& options);
  NeighborWriter(NeighborWriter&&) noexcept;
  ~NeighborWriter();

  // Appends a structure. list: with shifts. triplets: from FindTriplets, or null if none are written. INVALID_ARGUMENT:
  // an element that is not in options.species; more atoms than an int32 counts.
  absl::Status Append(const Structure& structure, const NeighborList& list, const TripletList* triplets,
                      double weight = 1);
  // Completes the file, which appears now. provenance: see lib/tensorfile/provenance.h.
  absl::Status Finish(const Metadata& provenance);

 private:
  struct State;
  explicit NeighborWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_NEIGHBOR_FILE_H_
