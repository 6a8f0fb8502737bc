// Reads structures one after another from a file of any known format, which is recognized by content and not by name.

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

// Units of RuNNer and n2p2 files, which do not state them: the user must.
enum class RunnerUnits { kUnknown, kAngstromEv, kBohrHartree };

// Unit of the forces of XSF files, which state none: the format has Hartree/Angstrom, which XCrySDen and ASE write, and
// aenet eV/Angstrom. kAuto: Hartree/Angstrom, with a warning, where elements are given as atomic numbers, as the format
// has them and aenet does not write them, else eV/Angstrom.
enum class XsfForces { kAuto, kEv, kHartree };

// Names of labels in extended XYZ; "" for none.
struct LabelNames {
  std::string energy, force, stress, virial;
};

// Which names hold the labels, and where warnings go.
struct StructureReaderOptions {
  // Keys of extended XYZ. If empty, the usual names are tried in the order that docs/formats.md lists, and the first
  // one found is used.
  std::string energy_key;
  std::string force_key;
  std::string stress_key;  // eV/Angstrom^3, positive in tension
  std::string virial_key;  // eV; stress = -virial / volume. Given without stress_key, it takes precedence over a stress
  // Names that are tried before the usual ones, for labels that no key above names: those under which a model's
  // training data were read. A frame that lacks one is read by the usual names, with a warning that counts such frames.
  LabelNames recorded;
  RunnerUnits runner_units = RunnerUnits::kUnknown;
  XsfForces xsf_forces = XsfForces::kAuto;
  // Receives warnings about doubtful input, as "path:line: found, what was made of it, remedy", once for all frames of
  // a file, at the file's beginning or end, from the thread that reads. May be empty.
  std::function<void(const std::string& message)> on_warning;
};

// A stream of structures from one file; the base class of all formats.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<StructureReader> reader, StructureReader::Open("train.extxyz"));
//   Structure structure;
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, reader->Next(&structure));
//     if (!more) break;
//     Use(structure);
//   }
class StructureReader {
 public:
  // Opens a file; "-" is standard input, and gzip is recognized. NOT_FOUND, or INVALID_ARGUMENT for an empty or
  // unrecognized file.
  static absl::StatusOr<std::unique_ptr<StructureReader>> Open(absl::string_view path,
                                                               const StructureReaderOptions& options = {});
  virtual ~StructureReader() = default;

  // Fills `structure` with the next frame; returns false at the end. Errors read "path:line: found, expected, remedy".
  virtual absl::StatusOr<bool> Next(Structure* structure) = 0;
};

// Does what StructureReader::Open does, for lines from another source such as bytes in memory (LineReader::FromBytes).
absl::StatusOr<std::unique_ptr<StructureReader>> OpenStructureReader(LineReader lines,
                                                                     const StructureReaderOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_STRUCTURE_READER_H_
