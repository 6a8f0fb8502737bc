// Writes records as a trace in Chrome's format (Trace Event Format, complete events), which Perfetto and
// chrome://tracing open.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_CHROME_TRACE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_CHROME_TRACE_H_

#include <string>

#include "absl/types/span.h"
#include "lib/profile/record.h"

namespace rutile {

// Returns {"traceEvents": [...], "displayTimeUnit": "ms"}. Times are microseconds since the first process began;
// processes and threads have their names. Spans whose stage the record does not have are left out.
std::string ChromeTrace(absl::Span<const ProfileRecord> records);

// Returns when a process of the records began, in ns after the first of them.
int64_t StartAfterFirst(absl::Span<const ProfileRecord> records, const ProfileRecord& record);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_CHROME_TRACE_H_
