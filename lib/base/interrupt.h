// Turns SIGINT, SIGTERM and SIGUSR1 into a flag that long loops check, so that no work is cut off in the middle.

#ifndef RUTILE_LIB_BASE_INTERRUPT_H_
#define RUTILE_LIB_BASE_INTERRUPT_H_

#include "absl/status/status.h"

namespace rutile {

// From this call on, the first signal sets the flag. A second SIGINT ends the process at once, because a user who
// presses Ctrl-C twice wants that; the other signals may come twice for one reason (Slurm sends SIGTERM to the step and
// through srun). SIGXFSZ is ignored, so that a file that grows beyond `ulimit -f` is a write error, as on a full disk.
void InstallInterruptHandlers();

// Returns the signal received, or 0.
int InterruptSignal();

// Returns CANCELLED naming the signal if one was received. Loops over structures, batches or steps call it once a
// round.
absl::Status CheckInterrupt();

// Sets the flag as the signal would; used when another process of the same run received the signal.
void SetInterrupt(int signal_number);
// Sets the flag as the signal would, or clears it (0).
void SetInterruptForTest(int signal_number);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_INTERRUPT_H_
