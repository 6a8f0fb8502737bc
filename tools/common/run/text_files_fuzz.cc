// Reads damaged flag files, lists of inputs and files of indices: the result is one line that names the file, or what
// the files hold. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and
// as a test.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/file/input_files.h"
#include "lib/potential/data/structure_list.h"
#include "lib/testing/damaged_file.h"
#include "tools/common/run/flag_file.h"

namespace {

constexpr char kFlags[] = "# a comment\n--help\n  --version=false\nstructures.xyz\r\n";
constexpr char kInputs[] = "# a comment\n/dev/null\n\n  /dev/zero\n/dev/nul?\n/proc/self/fd/\n";
constexpr char kStructures[] = "0 1 2\n17  # a.xyz#17 4f2a91c07be1\n# a comment\n4 3\n";

void ReadFlags(const std::string& path) {
  const auto arguments = rutile::ExpandFlagFiles({absl::StrCat("--flagfile=", path)});
  // A flag file that names another one may fail for that.
  if (!arguments.ok()) CHECK(!arguments.status().message().empty());
}

void ReadList(const std::string& path) {
  rutile::CheckOutcome(rutile::ExpandInputs({absl::StrCat("list:", path)}), path);
}

void ReadStructures(const std::string& path) {
  const auto list = rutile::ReadStructureList(path);
  rutile::CheckOutcome(list, path);
  if (!list.ok()) return;
  CHECK_EQ(list->hashes.size(), list->numbers.size());
  for (const int64_t number : list->numbers) CHECK_GE(number, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rutile::ForEachDamage(kFlags, data, size, ReadFlags);
  rutile::ForEachDamage(kInputs, data, size, ReadList);
  rutile::ForEachDamage(kStructures, data, size, ReadStructures);
  return 0;
}
