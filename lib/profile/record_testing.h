// Sample records for tests.

#ifndef RUTILE_LIB_PROFILE_RECORD_TESTING_H_
#define RUTILE_LIB_PROFILE_RECORD_TESTING_H_

#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"

namespace rutile {

// Returns the record of an imaginary run of train: 2 s of wall time, 1 s of them in step/network with 40 Gflop and 10
// GB; a loader thread and two workers; two processors.
ProfileRecord TrainRecord();

// Sets the self time of a stage of the main thread, adding the stage if necessary. "other" takes the difference, so
// that stages still sum to the wall time.
void SetSelfTime(const char* path, double self_s, ProfileRecord* record);

// Returns 100 Gflop/s and 20 GB/s on all processors, half of that on one; fp64 has half the rate of fp32.
MachinePeaks PlainPeaks();

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_RECORD_TESTING_H_
