// A communicator whose processes are threads, for tests.

#ifndef RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_
#define RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_

#include <functional>

#include "lib/distributed/communicator.h"

namespace rutile {

// Runs work(communicator) in `size` threads, each a rank of its own, and returns when all have finished. Every rank
// must make the same calls: one that does not hangs the others. devices: Communicator::JoinDevices provides sums on
// "cpu", as real communicators do on GPUs.
void RunAsThreads(int size, const std::function<void(Communicator* communicator)>& work, bool devices = false);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_THREAD_COMMUNICATOR_H_
