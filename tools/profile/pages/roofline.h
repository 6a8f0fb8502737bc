// Roofline (Williams, Waterman, Patterson, Comm. ACM 52, 65 (2009)): a stage that does `flop` operations and moves
// `bytes` between memory and processor cannot be faster than the peak of either.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_ROOFLINE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_ROOFLINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"
#include "lib/trace/scope.h"

namespace rutile {

// Rates per second; 0: not known.
struct Roof {
  double flop = 0;
  double bytes = 0;
  std::string what;  // "fp32, 2 processors"; "fp64", "bf16"
};

// The roof over a process: of one processor when it kept not more than one and a fifth busy (cpu_s by wall_s), else of
// all. Of fp64 when its command says --precision=fp64, of products in bf16 for bf16-mixed and for stages that round by
// themselves, else of fp32.
Roof RoofOf(const ProfileRecord& record, const MachinePeaks& peaks, Stage stage = Stage::kOther);

struct RooflinePoint {
  double intensity = 0;          // flop per byte; 0 where one of them is not counted
  double share = 0;              // of the limit, 0: not known. Above 1 where the data stays in caches
  bool memory_is_limit = false;  // else arithmetic
};

// Of `flop` operations and `bytes` in `seconds`; 0 where not counted. With one of them that one's peak is the limit.
RooflinePoint PlaceUnderRoof(const Roof& roof, double flop, double bytes, double seconds);

// Value of --name=value or --name value in a command, the last one; "" when it is not there. Dashes in names count as
// underscores, as for gflags.
std::string CommandFlag(const std::vector<std::string>& command, absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_ROOFLINE_H_
