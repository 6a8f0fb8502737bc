// Formats the table that --timing prints.

#ifndef RUTILE_LIB_PROFILE_TIMING_TABLE_H_
#define RUTILE_LIB_PROFILE_TIMING_TABLE_H_

#include <string>

#include "lib/profile/record.h"

namespace rutile {

// Lists the main thread, then other threads that recorded stages. Each line is one path, indented by depth, with its
// share of wall time, self time, calls, and the rate of its first counter over total time ("1.2 M atoms/s", "3.1
// GFLOP/s").
//
//   timing: 12.31 s wall, 23.9 s processor, 301 MB
//   main                        share     self    calls
//     search                   41.2 %   5.07 s      120   1.2 M atoms/s
std::string TimingTable(const ProfileRecord& record);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_TIMING_TABLE_H_
