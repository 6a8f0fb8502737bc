#include "tools/common/flags/thread_flags.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "lib/machine/parallel_for.h"

DEFINE_int32(threads, 0,
             "Number of threads, up to 1024. With 0, there is one for each processor that the process may use, and "
             "train uses a single one for small steps. Results do not depend on it.");
DEFINE_validator(threads, [](const char*, int32_t value) { return value >= 0 && value <= 1024; });

namespace rutile {
namespace {

int own_processors = 0;  // 0: all

}  // namespace

int ThreadsFromFlags() {
  if (FLAGS_threads > 0) return FLAGS_threads;
  return own_processors > 0 ? own_processors : AvailableProcessors();
}

void TakeProcessors(int number) { own_processors = std::max(1, number); }

}  // namespace rutile
