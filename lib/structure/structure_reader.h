// Reads structures one after another from a file of any known format, told apart by content and not by name.

#ifndef RUTILE_LIB_STRUCTURE_STRUCTURE_READER_H_
#define RUTILE_LIB_STRUCTURE_STRUCTURE_READER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

class LineReader;

// n2p2 and RuNNer do not say their units: the user must.
enum class RunnerUnits { kUnknown, kAngstromEv, kBohrHartree };

struct StructureReaderOptions {
  // Keys of extended XYZ. Empty: the usual names, in the order that docs/formats.md lists; the first one found counts.
  std::string energy_key;
  std::string force_key;
  std::string stress_key;  // eV/Angstrom^3, positive in tension
  std::string virial_key;  // eV; stress = -virial / volume. Given without stress_key, it counts before a stress
  RunnerUnits runner_units = RunnerUnits::kUnknown;
  // Told, at the beginning or the end of a file, what is read but doubtful, as "path:line: found, what was made of it,
  // remedy", once for all of its frames; from the thread that reads. May be empty.
  std::function<void(const std::string& message)> on_warning;
};

class StructureReader {
 public:
  // "-" is standard input; gzip is recognized. NOT_FOUND, or INVALID_ARGUMENT for an empty or unrecognized file.
  static absl::StatusOr<std::unique_ptr<StructureReader>> Open(absl::string_view path,
                                                               const StructureReaderOptions& options = {});
  virtual ~StructureReader() = default;

  // Fills `structure` with the next frame; false at the end. Errors are "path:line: found, expected, remedy".
  virtual absl::StatusOr<bool> Next(Structure* structure) = 0;
};

// StructureReader::Open for lines that come from elsewhere, such as bytes in memory (LineReader::FromBytes).
absl::StatusOr<std::unique_ptr<StructureReader>> OpenStructureReader(LineReader lines,
                                                                     const StructureReaderOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_STRUCTURE_READER_H_
