// Simulates a limit on memory (ulimit -v) under which this process can start a few more threads, but not many.

#ifndef RUTILE_LIB_TESTING_FEW_THREADS_H_
#define RUTILE_LIB_TESTING_FEW_THREADS_H_

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "lib/base/logging.h"

namespace rutile {

// While an object of this class lives, memory has room for the stacks of fewer than 64 threads more. The memory of
// sanitizers exceeds any limit: kWorks is false with them, and such a test is skipped.
class FewThreads {
 public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kWorks = false;
#else
  static constexpr bool kWorks = true;
#endif

  FewThreads() {
    CHECK_EQ(::getrlimit(RLIMIT_AS, &former_), 0);
    int64_t pages = 0;
    CHECK(std::ifstream("/proc/self/statm") >> pages);
    constexpr rlim_t kRoom = 64 << 20;  // a stack takes 2 MB at least, and 8 MB as a rule
    const rlimit limit = {static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + kRoom, former_.rlim_max};
    CHECK_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~FewThreads() { CHECK_EQ(::setrlimit(RLIMIT_AS, &former_), 0); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  rlimit former_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_FEW_THREADS_H_
