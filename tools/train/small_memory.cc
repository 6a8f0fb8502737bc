// Looks at the limit of this process's memory before LibTorch's libraries begin. OpenBLAS takes its buffers when it is
// loaded, before main, and where a limit (ulimit -d, prlimit --data) leaves no room it tries again for ever, deaf to
// signals. So --version is answered here, a limit that is too small is one line, and a limit that is small gets the
// buffers of one thread (our own kernels have threads of their own).
//
// The loader calls what .preinit_array points to before it initializes any library, the standard library of C++
// included: here are system calls and C alone.

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/base/version.h"
#include "tools/common/run/start_script.h"
#include "tools/train/data/features.h"

namespace {

// OpenBLAS has one buffer for each thread when it is loaded, and takes one more for its first product.
constexpr uint64_t kBuffer = uint64_t{128} << 20;
// LibTorch's own data, and a small run.
constexpr uint64_t kRest = uint64_t{160} << 20;

uint64_t Needed(int threads) { return (threads + 1) * kBuffer + kRest; }

void Write(int fd, const char* text) {
  if (::write(fd, text, std::strlen(text)) < 0) return;  // there is nobody to tell
}

bool AsksForVersion(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::strcmp(argv[i], "--version") == 0 || std::strcmp(argv[i], "-version") == 0) return true;
  }
  return false;
}

// Starts the program again with one thread of LibTorch's. Returns if that is not possible.
void StartWithOneThread(char** argv, char** environment) {
  static char one[] = "OMP_NUM_THREADS=1";
  size_t size = 0;
  while (environment[size] != nullptr) ++size;
  char** const changed = static_cast<char**>(std::malloc((size + 2) * sizeof(char*)));
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (changed == nullptr || length < 0) return;
  path[length] = '\0';
  const char* program = path;
  // A loader is not the program: start_script.h, whose strings of C++ are not to be had yet.
  constexpr size_t kName = sizeof(rutile::kStartScriptVariable) - 1;
  for (char** entry = environment; *entry != nullptr && std::strstr(path, "/ld-linux") != nullptr; ++entry) {
    if (std::strncmp(*entry, rutile::kStartScriptVariable, kName) == 0 && (*entry)[kName] == '=') {
      program = *entry + kName + 1;
    }
  }
  std::memcpy(changed, environment, size * sizeof(char*));
  changed[size] = one;
  changed[size + 1] = nullptr;
  ::execve(program, argv, changed);
}

void LookAtLimit(int argc, char** argv, char** environment) {
  struct rlimit data;
  if (::getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY) return;
  cpu_set_t cpus;
  const int threads = ::sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  const uint64_t limit = data.rlim_cur;
  if (limit >= Needed(threads)) return;
  char line[300];
  if (AsksForVersion(argc, argv)) {
    std::snprintf(line, sizeof(line), "train %s\n%s", rutile::kVersion, rutile::kTrainFeatures);
    Write(STDOUT_FILENO, line);
    ::_exit(0);
  }
  if (limit < Needed(1)) {
    std::snprintf(
        line, sizeof(line),
        "train: this process may have %llu bytes of memory of its own (ulimit -d, prlimit --data), but LibTorch "
        "alone takes %llu: allow more\n",
        static_cast<unsigned long long>(limit), static_cast<unsigned long long>(Needed(1)));
    Write(STDERR_FILENO, line);
    ::_exit(1);
  }
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "OMP_NUM_THREADS=", 16) == 0) return;
  }
  StartWithOneThread(argv, environment);
}

__attribute__((section(".preinit_array"), used)) void (*const look_at_limit)(int, char**, char**) = LookAtLimit;

}  // namespace
