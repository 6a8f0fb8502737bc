// Adds to a record what a process cannot record of itself, as its parent saw it.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_

#include <cstdint>

#include "lib/profile/record.h"

namespace rutile {

// Extends the record to the whole life of its process, from start to end (nanoseconds since 1970): "startup" begins at
// its start, and a stage "exit" of the main thread follows what was recorded: writing the record, ending libraries,
// freeing memory. The stages of the main thread then add up to end - start. Returns false and changes nothing if the
// record is not from that time: it is of another process with the same number, or a clock was set meanwhile.
bool AddProcessEnds(int64_t start_unix_ns, int64_t end_unix_ns, ProfileRecord* record);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_
