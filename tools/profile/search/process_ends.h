// What a process cannot record of itself, as its parent saw it.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_

#include <cstdint>

#include "lib/profile/record.h"

namespace rutile {

// Lengthens the record to the life of its process, from start to end (nanoseconds since 1970): "startup" begins at its
// start, and a stage "exit" of the main thread follows what was recorded: writing the record, ending libraries, giving
// memory back. The stages of the main thread then add up to end - start. Returns false, and changes nothing, where the
// record is not of that time: of another process with the same number, or a clock was set meanwhile.
bool AddProcessEnds(int64_t start_unix_ns, int64_t end_unix_ns, ProfileRecord* record);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_PROCESS_ENDS_H_
