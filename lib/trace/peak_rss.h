// The most memory that this process has had at once.

#ifndef RUTILE_LIB_TRACE_PEAK_RSS_H_
#define RUTILE_LIB_TRACE_PEAK_RSS_H_

#include <cstdint>

namespace rutile {

// Resident bytes at their highest (VmHWM); 0 where the system does not tell. Takes about 20 us.
int64_t PeakRssBytes();

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_PEAK_RSS_H_
