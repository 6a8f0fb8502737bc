#include "lib/machine/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/machine/memory.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/simd.h"

namespace rutile {
namespace {

std::string Contents(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// In Highway's bit masks of targets, lower bits are wider registers.
std::string ChosenInstructionSet() {
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace

std::string CpuModel(const std::string& cpuinfo) {
  // Keys of the model on x86, on POWER, and on some boards.
  for (const absl::string_view key : {"model name", "cpu", "Model", "Hardware"}) {
    for (const absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
      const size_t colon = line.find(':');
      if (colon == absl::string_view::npos || absl::StripAsciiWhitespace(line.substr(0, colon)) != key) continue;
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "";
}

Machine DescribeMachine() {
  Machine machine;
  utsname system = {};
  ::uname(&system);  // fails only for a bad pointer
  machine.kernel = absl::StrCat(system.sysname, " ", system.release, " ", system.machine);
  machine.cpu = CpuModel(Contents("/proc/cpuinfo"));
  if (machine.cpu.empty()) machine.cpu = system.machine;
  machine.instruction_set = ChosenInstructionSet();
  machine.processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  machine.usable_processors = AvailableProcessors();
  machine.memory_bytes = MemoryLimit();
  return machine;
}

std::string CompilerName() {
#if defined(__clang__)
  return absl::StrCat("clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#elif defined(__GNUC__)
  return absl::StrCat("gcc ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace rutile
