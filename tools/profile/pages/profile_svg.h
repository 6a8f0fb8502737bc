// Pictures of a profile as SVG, without any other program: bars of stages, and a timeline.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_
#define RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/profile/record.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {

// A bar for each stage of the main thread, by its share of the wall time; at most max_stages, the rest in one bar.
// Inside a bar, darker: the part that the limit of the machine would take (its time times roofline.share), where known.
std::string StageBarsSvg(absl::string_view title, const StageTable& table, int max_stages);

// Lanes for each process, thread and depth of stages, over time since the first process began. What is shorter than a
// pixel column is drawn as what takes most of that column. "" when there are no spans.
std::string TimelineSvg(absl::Span<const ProfileRecord> records);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_PROFILE_SVG_H_
