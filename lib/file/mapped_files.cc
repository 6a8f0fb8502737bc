#include "lib/file/mapped_files.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/synchronization/mutex.h"
#include "lib/base/printable_text.h"

namespace rutile {
namespace {

// A mapping, or a free place for one. A handler of signals may take no lock, so that places are never freed and are
// found through atomic pointers; `path` is stable while a faulting access holds its mapping.
struct Place {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> size{0};  // 0: free
  std::atomic<char*> path{nullptr};
  Place* next = nullptr;
};

std::atomic<Place*> places{nullptr};
const char* tool_name = "rutile";

absl::Mutex& WriterMutex() {
  static auto* mutex = new absl::Mutex();
  return *mutex;
}

// Writes to standard error with system calls alone.
void Write(const char* text) {
  size_t size = std::strlen(text);
  while (size > 0) {
    const ssize_t n = ::write(STDERR_FILENO, text, size);
    if (n <= 0) return;
    text += n;
    size -= n;
  }
}

void OnBusError(int signal_number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Place* place = places.load(); place != nullptr; place = place->next) {
    const uintptr_t begin = place->begin.load();
    if (address < begin || address - begin >= place->size.load()) continue;
    Write(tool_name);
    Write(": ");
    Write(place->path.load());
    Write(
        ": became shorter, or could not be read, while it was in use, expected a file that stays as it is; make it "
        "again and repeat the command\n");
    ::_exit(1);
  }
  std::signal(signal_number, SIG_DFL);  // the access is repeated and ends the process
}

}  // namespace

void RememberMapping(const void* address, size_t size, absl::string_view path) {
  const absl::MutexLock lock(&WriterMutex());
  Place* place = places.load();
  while (place != nullptr && place->size.load() != 0) place = place->next;
  if (place == nullptr) {
    place = new Place();
    place->next = places.load();
    places.store(place);
  }
  std::free(place->path.exchange(::strdup(PrintableText(path).c_str())));
  place->begin.store(reinterpret_cast<uintptr_t>(address));
  place->size.store(size);
}

void ForgetMapping(const void* address) {
  const absl::MutexLock lock(&WriterMutex());
  for (Place* place = places.load(); place != nullptr; place = place->next) {
    if (place->size.load() != 0 && place->begin.load() == reinterpret_cast<uintptr_t>(address)) {
      place->size.store(0);
      return;
    }
  }
}

void InstallMappedFileHandler(const char* tool) {
  tool_name = tool;
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace rutile
