// The part that all files about structures share: positions, cells, energies, forces, stresses and names. Each kind of
// file (atomistic.features/1, atomistic.neighbors/1) adds its own tensors.

#ifndef RUTILE_LIB_NEIGHBOR_STRUCTURE_FILE_H_
#define RUTILE_LIB_NEIGHBOR_STRUCTURE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/file/sha256.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {

// Return the rules `own` of one kind of file, followed by those for the tensors (or the metadata) that all kinds share.
std::vector<TensorRule> WithStructureTensors(std::vector<TensorRule> own);
std::vector<MetadataRule> WithStructureMetadata(std::vector<MetadataRule> own);

// SHA-256 over structures in their order (elements, positions, cells, periodicity, bit for bit, and nothing else),
// which tells whether files of different kinds contain the same structures.
class StructureHash {
 public:
  // elements: [N] atomic numbers; position: [3N].
  void Add(absl::Span<const uint8_t> elements, absl::Span<const double> position, const Matrix3& cell,
           const std::array<bool, 3>& pbc);
  // Returns 64 hex digits of the structures added so far.
  std::string HexDigest() const { return hash_.HexDigest(); }

 private:
  Sha256 hash_;
};

// A file about structures as read. Copies share the tensors' bytes.
struct StructureFile {
  TensorFile file;
  std::vector<std::string> names;             // [S] names of the structures
  std::vector<std::string> config_types;      // names that the tensor `config` indexes; "" for structures without one
  std::map<uint8_t, double> atomic_energies;  // eV by atomic number; empty: none were given

  int64_t num_structures() const { return static_cast<int64_t>(names.size()); }
};

// Decodes and checks the shared part of a file that passed CheckSchema with these sizes. `species` are the atomic
// numbers that the tensor `species` indexes. INVALID_ARGUMENT naming file, tensor and rule: offsets that do not rise
// from 0 to A, a species or config out of range, a number that is present but not finite, a weight below 0.
absl::Status DecodeStructures(const std::map<std::string, int64_t>& sizes, absl::Span<const uint8_t> species,
                              StructureFile* file);

// Copies structure s as it was written, except that `info` keeps only "config_type".
void CopyStructure(const StructureFile& file, absl::Span<const uint8_t> species, int64_t s, Structure* structure);

// Returns the metadata `structures_sha256`, or computes it from the tensors of an old file that does not record it.
std::string StructuresSha256(const StructureFile& file, absl::Span<const uint8_t> species);

// Writes the shared part, one structure after another. Its memory does not grow with their number, apart from names and
// config ids.
class StructureFileWriter {
 public:
  // weights: true if the structures have weights.
  static absl::StatusOr<StructureFileWriter> Create(absl::string_view path, bool weights);
  StructureFileWriter(StructureFileWriter&&) noexcept;
  ~StructureFileWriter();

  // The underlying writer, to declare and append the tensors of one kind of file.
  TensorStreamWriter& tensors();
  // Number of atoms appended so far.
  int64_t num_atoms() const;

  // Appends a structure. species: [N] indices. weight is ignored if the file has no weights.
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, double weight);
  // Completes the file, which appears now. metadata: the keys of this kind of file, and the provenance.
  absl::Status Finish(Metadata metadata, const std::map<uint8_t, double>& atomic_energies);

 private:
  struct State;
  explicit StructureFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns `values` as a JSON list. Bytes that are not UTF-8 are replaced, because JSON cannot hold them.
std::string DumpStrings(const std::vector<std::string>& values);
// Parses the JSON list of a metadata key. INVALID_ARGUMENT, naming the file and the key, if it is missing or no list of
// strings.
absl::StatusOr<std::vector<std::string>> ParseStrings(const TensorFile& file, const std::string& key);
// Returns the metadata `atomic_energies`, in eV by atomic number; empty if none are recorded.
absl::StatusOr<std::map<uint8_t, double>> AtomicEnergiesOf(const TensorFile& file);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_STRUCTURE_FILE_H_
