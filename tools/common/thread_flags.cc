#include "tools/common/thread_flags.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "lib/base/parallel_for.h"

DEFINE_int32(threads, 0,
             "Threads, up to 1024. 0: one for each processor that the process may use. Results do not depend on it.");
DEFINE_validator(threads, [](const char*, int32_t value) { return value >= 0 && value <= 1024; });

namespace rutile {
namespace {

int processes_here = 1;

}  // namespace

int ThreadsFromFlags() {
  return FLAGS_threads > 0 ? FLAGS_threads : std::max(1, AvailableProcessors() / processes_here);
}

void ShareProcessors(int processes) { processes_here = processes; }

}  // namespace rutile
