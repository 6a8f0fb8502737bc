// What every file about structures holds, whatever else is in it: positions, cells, energies, forces, stresses, names.
// Kinds of files (atomistic.features/1, atomistic.neighbors/1) add their own tensors.

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
#include "lib/base/sha256.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {

// `own` and the tensors (metadata) of every file about structures.
std::vector<TensorRule> WithStructureTensors(std::vector<TensorRule> own);
std::vector<MetadataRule> WithStructureMetadata(std::vector<MetadataRule> own);

// SHA-256 over the structures in their order: elements, positions, cells, periodicity, bit for bit, and nothing else,
// so that files of different kinds can be told to hold the same structures.
class StructureHash {
 public:
  // elements: [N] atomic numbers; position: [3N].
  void Add(absl::Span<const uint8_t> elements, absl::Span<const double> position, const Matrix3& cell,
           const std::array<bool, 3>& pbc);
  // 64 hex digits, of what was added so far.
  std::string HexDigest() const { return hash_.HexDigest(); }

 private:
  Sha256 hash_;
};

// A file as read. Copies share the tensors' bytes.
struct StructureFile {
  TensorFile file;
  std::vector<std::string> names;             // [S] of structures
  std::vector<std::string> config_types;      // what `config` counts; "" is "none given"
  std::map<uint8_t, double> atomic_energies;  // eV by atomic number; empty: none were given

  int64_t num_structures() const { return static_cast<int64_t>(names.size()); }
};

// Decodes and checks what is common, of a file that passed CheckSchema with these sizes; `species` are the atomic
// numbers that the tensor `species` counts. INVALID_ARGUMENT naming file, tensor and rule: offsets that do not rise
// from 0 to A, a species or config out of range, a number that is there but not finite, a weight below 0.
absl::Status DecodeStructures(const std::map<std::string, int64_t>& sizes, absl::Span<const uint8_t> species,
                              StructureFile* file);

// Structure s as it was written, but for `info`, of which only "config_type" is kept.
void CopyStructure(const StructureFile& file, absl::Span<const uint8_t> species, int64_t s, Structure* structure);

// The metadata `structures_sha256`; computed from the tensors for files that were made before it was recorded.
std::string StructuresSha256(const StructureFile& file, absl::Span<const uint8_t> species);

// Writes what is common, one structure after another; what is in memory does not grow with their number (names and
// config ids apart).
class StructureFileWriter {
 public:
  // weights: whether the structures have weights.
  static absl::StatusOr<StructureFileWriter> Create(absl::string_view path, bool weights);
  StructureFileWriter(StructureFileWriter&&) noexcept;
  ~StructureFileWriter();

  // To declare and append the kind's own tensors.
  TensorStreamWriter& tensors();
  // Atoms so far.
  int64_t num_atoms() const;

  // species: [N] indices; weight counts only if the file has weights.
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, double weight);
  // metadata: the kind's own keys and the provenance. The file appears now, whole.
  absl::Status Finish(Metadata metadata, const std::map<uint8_t, double>& atomic_energies);

 private:
  struct State;
  explicit StructureFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// `values` as a JSON list, and back. Bytes that are not UTF-8 are replaced, since JSON cannot hold them.
std::string DumpStrings(const std::vector<std::string>& values);
// INVALID_ARGUMENT naming the file and the key, which must be there.
absl::StatusOr<std::vector<std::string>> ParseStrings(const TensorFile& file, const std::string& key);
// The metadata `atomic_energies`, eV by atomic number; empty: none are recorded.
absl::StatusOr<std::map<uint8_t, double>> AtomicEnergiesOf(const TensorFile& file);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_STRUCTURE_FILE_H_
