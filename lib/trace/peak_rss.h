// Returns the most memory that this process has used at once.

#ifndef RUTILE_LIB_TRACE_PEAK_RSS_H_
#define RUTILE_LIB_TRACE_PEAK_RSS_H_

#include <cstdint>

namespace rutile {

// Returns the highest number of resident bytes (VmHWM), or 0 if the system does not tell. Takes about 20 us.
int64_t PeakRssBytes();

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_PEAK_RSS_H_
