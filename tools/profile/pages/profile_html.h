// Writes a profile as one self-contained HTML file: bars, timeline, tables, advice.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_PROFILE_HTML_H_
#define RUTILE_TOOLS_PROFILE_PAGES_PROFILE_HTML_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/profile/machine_peaks.h"
#include "tools/profile/pages/profile_page.h"

namespace rutile {

// Returns the HTML. INTERNAL if a picture cannot be drawn.
absl::StatusOr<std::string> ProfileHtml(const CommandProfile& run, const MachinePeaks& peaks);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_PROFILE_HTML_H_
