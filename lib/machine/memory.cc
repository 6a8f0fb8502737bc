#include "lib/machine/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace rutile {
namespace {

// Returns the number in a file, or -1 if it contains none ("max").
int64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t number = -1;
  if (!(file >> text) || !absl::SimpleAtoi(text, &number)) return -1;
  return number;
}

// Returns the process's memory limit in either version of control groups, or -1 if there is none.
int64_t CgroupLimit() {
  std::ifstream file("/proc/self/cgroup");
  int64_t limit = -1;
  const auto take = [&limit](int64_t other) {
    if (other > 0) limit = limit < 0 ? other : std::min(limit, other);
  };
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool unified = parts[1].empty();
    if (!unified && parts[1] != "memory") continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string name = unified ? "/memory.max" : "/memory.limit_in_bytes";
    // A group obeys its own limit and those of all its parents. Inside a container the path may not exist; then the
    // root's limit counts.
    for (std::string path = parts[2];;) {
      take(NumberIn(absl::StrCat(root, path == "/" ? "" : path, name)));
      const size_t slash = path.rfind('/');
      if (path.empty() || path == "/" || slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  return limit;
}

// Returns the bytes that this process has for itself already, which no file backs.
int64_t OwnMemory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t kilobytes = 0;
    if (parts.size() == 3 && parts[0] == "RssAnon:" && absl::SimpleAtoi(parts[1], &kilobytes)) return kilobytes * 1024;
  }
  return 0;
}

// Calls madvise(2) for the whole pages around [data, data + bytes).
template <typename Use>
void WithPages(const void* data, int64_t bytes, const Use& use) {
  if (bytes <= 0) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes);
  use(reinterpret_cast<void*>(begin), end - begin);
}

}  // namespace

int64_t MemoryLimit() {
  const int64_t machine = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  const int64_t group = CgroupLimit();
  const int64_t limit = group > 0 ? std::min(machine, group) : machine;
  struct rlimit data;  // ulimit -d: memory that is the process's own; mapped files do not count
  if (::getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY) return limit;
  return std::min(limit, static_cast<int64_t>(data.rlim_cur));
}

int64_t AvailableMemory() {
  const int64_t left = std::max<int64_t>(0, MemoryLimit() - OwnMemory());
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t kilobytes = 0;
    if (parts.size() == 3 && parts[0] == "MemAvailable:" && absl::SimpleAtoi(parts[1], &kilobytes)) {
      return std::min(left, kilobytes * 1024);
    }
  }
  return left;
}

// The result is ignored: if the kernel refuses the advice (for memory that is not mapped from a file), nothing is lost.
void AdviseRandomAccess(const void* data, int64_t bytes) {
  WithPages(data, bytes, [](void* begin, size_t size) { (void)::madvise(begin, size, MADV_RANDOM); });
}

void Prefetch(const void* data, int64_t bytes) {
  WithPages(data, bytes, [](void* begin, size_t size) { (void)::madvise(begin, size, MADV_WILLNEED); });
}

}  // namespace rutile
