// Processes that are threads: for tests.

#ifndef RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_
#define RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_

#include <functional>

#include "lib/distributed/communicator.h"

namespace rutile {

// work(communicator) in `size` threads, each a rank of its own; returns when all have. Every rank must make the same
// calls: one that does not hangs the others. devices: Communicator::JoinDevices sums on "cpu", as others do on GPUs.
void RunAsThreads(int size, const std::function<void(Communicator* communicator)>& work, bool devices = false);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_
