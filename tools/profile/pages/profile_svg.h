// Draws pictures of a profile as SVG, without any other program: bars of stages, and a timeline.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_
#define RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/profile/record.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {

// Draws a bar for each stage of the main thread, by its share of the wall time; at most max_stages, the others in one
// bar. The darker part inside a bar is the time that the machine's limit would take (its time times roofline.share), if
// known.
std::string StageBarsSvg(absl::string_view title, const StageTable& table, int max_stages);

// Draws a track for each process, thread and depth of stages, over time since the first process began. Stages that are
// shorter than a pixel column share it, and the column shows the one that takes most of it. "" if there are no spans.
std::string TimelineSvg(absl::Span<const ProfileRecord> records);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_
