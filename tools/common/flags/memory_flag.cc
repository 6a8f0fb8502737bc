#include "tools/common/flags/memory_flag.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/machine/mapped_memory.h"

DEFINE_string(
    mapped_memory, "",
    "A folder on a disk of this machine. Arrays of 32 MB and more (parameters, those of the best epoch, what an "
    "optimizer remembers) then lie in files there, without names, and need not fit into memory: for tables of "
    "very many entities. Numbers are the same. Slower where the arrays would have fitted.");

namespace rutile {

absl::StatusOr<std::string> MapMemoryFromFlag() {
  if (FLAGS_mapped_memory.empty()) return "";
  if (absl::Status mapped = MapLargeArrays(FLAGS_mapped_memory); !mapped.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--mapped_memory=", mapped.message()));
  }
  return absl::StrCat("arrays of ", kLeastMappedBytes >> 20, " MB and more are in files in ", FLAGS_mapped_memory,
                      ", without names");
}

}  // namespace rutile
