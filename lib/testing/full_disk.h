// Simulates a full disk for this process: files cannot grow beyond a size while an object of this class lives.

#ifndef RUTILE_LIB_TESTING_FULL_DISK_H_
#define RUTILE_LIB_TESTING_FULL_DISK_H_

#include <sys/resource.h>

#include <csignal>

#include "lib/base/logging.h"

namespace rutile {

class FullDisk {
 public:
  explicit FullDisk(rlim_t max_bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(::getrlimit(RLIMIT_FSIZE, &former_), 0);
    const rlimit limit = {max_bytes, former_.rlim_max};
    CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() { CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &former_), 0); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit former_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_FULL_DISK_H_
