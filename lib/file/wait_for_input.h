// Waits for the writer of a pipe in a way that a signal ends.

#ifndef RUTILE_LIB_FILE_WAIT_FOR_INPUT_H_
#define RUTILE_LIB_FILE_WAIT_FOR_INPUT_H_

#include <poll.h>

#include "absl/status/status.h"
#include "lib/base/interrupt.h"

namespace rutile {

// Returns once a read of fd would not block: there are bytes, it is a plain file, or the writer has closed its end. A
// read itself would outlast a signal if the writer is silent. CANCELLED naming the signal.
inline absl::Status WaitForInput(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  absl::Status status;
  while (status.ok() && ::poll(&wait, 1, /*milliseconds=*/100) <= 0) status = CheckInterrupt();
  return status;
}

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_WAIT_FOR_INPUT_H_
