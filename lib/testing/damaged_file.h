// Damages files in ways that a reader must survive: an error of one line that names the file, or a valid result.
//
// A fuzz target of a binary format makes a whole file once and lets its input say how to damage it. That reaches the
// decoder behind the checks of the container, which random bytes never pass, and needs no corpus for each format:
//
//   extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
//     static const std::string& whole = *new std::string(WholeFile());
//     ForEachDamage(whole, data, size, [](const std::string& path) { CheckOutcome(ReadPotential(path), path); });
//     return 0;
//   }

#ifndef RUTILE_LIB_TESTING_DAMAGED_FILE_H_
#define RUTILE_LIB_TESTING_DAMAGED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// A path in a directory of its own, which is removed with all files in it at the end of the object's life.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return directory_ + "/whole"; }
  // Returns the bytes of the file; CHECK-fails if nobody has written it.
  std::string Contents() const;

 private:
  std::string directory_;
};

// Returns the bytes of a tensor file under other names of its checksums ("crc32c.NAME" in the metadata), so that damage
// to tensors reaches their reader. Places and lengths stay.
std::string WithoutChecksums(absl::string_view tensor_file);

// Returns the file with the edits that `edits` lists: four bytes each, an operation, a place (two bytes, a fraction of
// the file) and an argument. Operations set, flip, increase, overwrite (with extreme numbers), insert, remove or repeat
// bytes, cut the file, and change digits of its header. Bytes that are left over do nothing.
std::string Damaged(absl::string_view whole, absl::Span<const uint8_t> edits);

// Splits the input of a fuzz target into edits of up to four operations, and calls `read` with the path of a file that
// is damaged by each, and by none for an empty input. The file exists during the call alone.
void ForEachDamage(absl::string_view whole, const uint8_t* data, size_t size,
                   const std::function<void(const std::string& path)>& read);

// CHECK-fails unless the status is OK, or names `path` in one line of printable length.
void CheckOutcome(const absl::Status& status, const std::string& path);
template <typename T>
void CheckOutcome(const absl::StatusOr<T>& result, const std::string& path) {
  CheckOutcome(result.status(), path);
}

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_DAMAGED_FILE_H_
