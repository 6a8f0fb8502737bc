// For tests: a record of a run of train as it might be.

#ifndef RUTILE_LIB_PROFILE_RECORD_TESTING_H_
#define RUTILE_LIB_PROFILE_RECORD_TESTING_H_

#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"

namespace rutile {

// 2 s of wall time, 1 s of them in step/network with 40 Gflop and 10 GB; a loader thread and two workers; two
// processors.
ProfileRecord TrainRecord();

// A stage of the main thread is replaced or added: its self time, while "other" takes the difference, so that stages
// still add up to the wall time.
void SetSelfTime(const char* path, double self_s, ProfileRecord* record);

// 100 Gflop/s and 20 GB/s on all processors, half on one; fp64 half of fp32.
MachinePeaks PlainPeaks();

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_RECORD_TESTING_H_
