#include "lib/profile/machine_facts.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/machine/cpu_bf16.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Parses "48K" as 49152; returns 0 for text that is no size.
int64_t CacheSize(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  int64_t unit = 1;
  if (absl::EndsWith(text, "K")) unit = 1024;
  if (absl::EndsWith(text, "M")) unit = 1024 * 1024;
  if (unit > 1) text.remove_suffix(1);
  int64_t size = 0;
  return absl::SimpleAtoi(text, &size) ? size * unit : 0;
}

void FindCaches(MachineFacts* facts) {
  for (int index = 0; index < 8; ++index) {
    const std::string directory = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    const std::string level = Contents(directory + "level");
    if (level.empty()) return;
    if (absl::StartsWith(Contents(directory + "type"), "Instruction")) continue;
    const int64_t size = CacheSize(Contents(directory + "size"));
    if (level[0] == '1') facts->l1_bytes = size;
    if (level[0] == '2') facts->l2_bytes = size;
    if (level[0] == '3') facts->l3_bytes = size;
  }
}

double AllowedByCgroup() {
  double quota = -1, period = -1;
  std::string word;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> word >> period) {
    if (!absl::SimpleAtod(word, &quota)) return 0;  // "max" means no limit
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// Returns which BLAS the library at this path is; "" if it does not multiply matrices. Distributions name every BLAS
// libblas.so.3, in directories that tell them apart.
absl::string_view BlasOf(absl::string_view path) {
  const absl::string_view file = path.substr(path.rfind('/') + 1);
  if (absl::StartsWith(file, "libmkl_")) return "MKL";
  if (absl::StartsWith(file, "libopenblas") || absl::StartsWith(file, "libscipy_openblas")) return "OpenBLAS";
  if (absl::StartsWith(file, "libblis")) return "BLIS";
  if (absl::StartsWith(file, "libsatlas") || absl::StartsWith(file, "libtatlas")) return "ATLAS";
  if (!absl::StartsWith(file, "libblas.so") && !absl::StartsWith(file, "libcblas.so")) return "";
  if (absl::StrContains(path, "/openblas")) return "OpenBLAS";
  if (absl::StrContains(path, "/blis")) return "BLIS";
  if (absl::StrContains(path, "/atlas")) return "ATLAS";
  if (absl::StrContains(path, "mkl")) return "MKL";
  return "reference BLAS";
}

template <typename T>
bool Get(const Json& json, const char* key, T* value) {
  const auto found = json.find(key);
  if (found == json.end()) return true;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (!found->is_array()) return false;
    for (const Json& element : *found) {
      if (!element.is_string()) return false;
    }
  } else if (!found->is_number()) {
    return false;
  }
  *value = found->template get<T>();
  return true;
}

}  // namespace

void FindLoadedLibraries(absl::string_view maps, MachineFacts* facts) {
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    const size_t slash = line.find('/');
    if (slash == absl::string_view::npos) continue;
    const absl::string_view path = line.substr(slash);
    const absl::string_view file = path.substr(path.rfind('/') + 1);
    constexpr absl::string_view kTorch = "libtorch_cpu.so";
    if (absl::StartsWith(file, kTorch)) {
      facts->libtorch = "unknown version";
      if (file.size() > kTorch.size() + 1) facts->libtorch = std::string(file.substr(kTorch.size() + 1));
    }
    const absl::string_view blas = BlasOf(path);
    // A libblas.so.3 that forwards calls to another library is loaded together with it.
    if (blas.empty() || (blas == "reference BLAS" && !facts->blas.empty())) continue;
    facts->blas = std::string(blas);
    facts->blas_library = std::string(file);
  }
  if (facts->blas == "reference BLAS") {
    facts->warnings.push_back(absl::StrCat("LibTorch multiplies matrices with reference BLAS (", facts->blas_library,
                                           "), many times slower than OpenBLAS: apt-get install libopenblas0"));
  }
}

MachineFacts FindMachineFacts() {
  MachineFacts facts;
  facts.machine = DescribeMachine();
  cpu_set_t set;
  facts.allowed_by_affinity = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  facts.allowed_by_cgroup = AllowedByCgroup();
  facts.bf16 = CpuBf16Instructions();
  facts.compiler = CompilerName();
  FindCaches(&facts);
  FindLoadedLibraries(Contents("/proc/self/maps"), &facts);
  if (facts.allowed_by_cgroup > 0 && facts.allowed_by_cgroup < facts.allowed_by_affinity) {
    facts.warnings.push_back(absl::StrCat("the cgroup allows ", facts.allowed_by_cgroup, " processors' time of ",
                                          facts.allowed_by_affinity, ": more threads than that wait for each other"));
  }
  return facts;
}

std::string MachineFactsJson(const MachineFacts& facts) {
  const Json json = {{"cpu", facts.machine.cpu},
                     {"instruction_set", facts.machine.instruction_set},
                     {"processors", facts.machine.processors},
                     {"usable_processors", facts.machine.usable_processors},
                     {"allowed_by_affinity", facts.allowed_by_affinity},
                     {"allowed_by_cgroup", facts.allowed_by_cgroup},
                     {"memory_bytes", facts.machine.memory_bytes},
                     {"kernel", facts.machine.kernel},
                     {"bf16", facts.bf16},
                     {"l1_bytes", facts.l1_bytes},
                     {"l2_bytes", facts.l2_bytes},
                     {"l3_bytes", facts.l3_bytes},
                     {"compiler", facts.compiler},
                     {"blas", facts.blas},
                     {"blas_library", facts.blas_library},
                     {"libtorch", facts.libtorch},
                     {"warnings", facts.warnings}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool ParseMachineFacts(absl::string_view text, MachineFacts* facts) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  *facts = MachineFacts();
  return Get(json, "cpu", &facts->machine.cpu) && Get(json, "instruction_set", &facts->machine.instruction_set) &&
         Get(json, "processors", &facts->machine.processors) &&
         Get(json, "usable_processors", &facts->machine.usable_processors) &&
         Get(json, "allowed_by_affinity", &facts->allowed_by_affinity) &&
         Get(json, "allowed_by_cgroup", &facts->allowed_by_cgroup) &&
         Get(json, "memory_bytes", &facts->machine.memory_bytes) && Get(json, "kernel", &facts->machine.kernel) &&
         Get(json, "bf16", &facts->bf16) && Get(json, "l1_bytes", &facts->l1_bytes) &&
         Get(json, "l2_bytes", &facts->l2_bytes) && Get(json, "l3_bytes", &facts->l3_bytes) &&
         Get(json, "compiler", &facts->compiler) && Get(json, "blas", &facts->blas) &&
         Get(json, "blas_library", &facts->blas_library) && Get(json, "libtorch", &facts->libtorch) &&
         Get(json, "warnings", &facts->warnings);
}

}  // namespace rutile
