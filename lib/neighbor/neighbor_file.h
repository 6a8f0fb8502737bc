// Files of kind atomistic.neighbors/1: who is whose neighbor, so that the search is done once.
//
// What the file holds is declared in NeighborSchema() and printed in docs/formats.md: pairs as index and lattice shift,
// 10 bytes each, and the structures themselves, so that training needs nothing else.

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

// No cutoff is longer, in Angstrom: thousands of neighbors an atom.
inline constexpr double kLongestCutoff = 20;

const Schema& NeighborSchema();

// A file as read. The spans point into it; copies share its bytes.
struct NeighborFile : StructureFile {
  double cutoff = 0;             // Angstrom: all pairs up to here are in the file
  std::vector<uint8_t> species;  // atomic numbers that the tensor `species` counts
  std::string descriptor;        // as in features (ChebyshevOptions::FromJson), or "": none was recorded
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

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule. Everything that code indexes by is checked (offsets that
// do not rise, a neighbor outside its structure, a triplet outside its atom's neighbors), at the speed of memory.
absl::StatusOr<NeighborFile> ReadNeighbors(absl::string_view path);
// The same of a file whose tensors were read already.
absl::StatusOr<NeighborFile> DecodeNeighbors(TensorFile file);

struct NeighborFileOptions {
  double cutoff = 0;                          // Angstrom, of the lists that will be given
  std::vector<uint8_t> species;               // atomic numbers; empty: the elements in the order of their appearance
  std::string descriptor;                     // JSON to record, or ""
  std::optional<DType> vectors;               // F32 or F64: r_ij are written, too
  double triplet_cutoff = 0;                  // Angstrom; 0: triplets are not written
  bool weights = false;                       // whether structures have weights
  std::map<uint8_t, double> atomic_energies;  // eV
};

// Writes structures one after another; what is in memory does not grow with the number of pairs.
class NeighborWriter {
 public:
  static absl::StatusOr<NeighborWriter> Create(absl::string_view path, const NeighborFileOptions& options);
  NeighborWriter(NeighborWriter&&) noexcept;
  ~NeighborWriter();

  // list: with shifts. triplets: of FindTriplets, or null if none are written. INVALID_ARGUMENT: an element that is not
  // in options.species; more atoms than an int32 counts.
  absl::Status Append(const Structure& structure, const NeighborList& list, const TripletList* triplets,
                      double weight = 1);
  // provenance: see lib/tensorfile/provenance.h. The file appears now, whole.
  absl::Status Finish(const Metadata& provenance);

 private:
  struct State;
  explicit NeighborWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_NEIGHBOR_FILE_H_
