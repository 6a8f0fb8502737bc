// SIGINT, SIGTERM and SIGUSR1 as a flag that long loops look at, so that nothing is cut off in the middle.

#ifndef RUTILE_LIB_BASE_INTERRUPT_H_
#define RUTILE_LIB_BASE_INTERRUPT_H_

#include "absl/status/status.h"

namespace rutile {

// From now on the first signal sets the flag. A second SIGINT ends the process at once, as who presses Ctrl-C twice
// wants; the others may come twice for one reason (Slurm's SIGTERM does: to the step, and through srun). SIGXFSZ is
// ignored: a file that grows beyond `ulimit -f` is an error of writing it, as on a full disk.
void InstallInterruptHandlers();

// The signal received, or 0.
int InterruptSignal();

// CANCELLED naming the signal when one was received. Loops over structures, batches or steps call it once per round.
absl::Status CheckInterrupt();

// As if the signal had come: to another process that this one works with.
void SetInterrupt(int signal_number);
// The same, or (0) as if none had come: for tests.
void SetInterruptForTest(int signal_number);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_INTERRUPT_H_
