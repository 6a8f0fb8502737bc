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

// The peaks of the machine for a stage, per second; 0: not known.
struct Roof {
  double flop = 0;
  double bytes = 0;
  std::string what;  // "fp32, 2 processors"; "fp64", "bf16"
};

// True for the stages whose products --precision=bf16-mixed rounds. The others, such as convolution, validation and
// descriptors, compute in fp32 there, too.
bool RoundsInMixedPrecision(Stage stage);

// Returns the roof for a stage of a process: that of one processor if it kept no more than 1.2 busy (cpu_s by wall_s),
// else of all. It is the roof of fp64 if its command says --precision=fp64, of bf16 products for stages that round by
// themselves or by bf16-mixed, else of fp32.
Roof RoofOf(const ProfileRecord& record, const MachinePeaks& peaks, Stage stage = Stage::kOther);

// The position of a stage under its roof.
struct RooflinePoint {
  double intensity = 0;          // flop per byte; 0 if one of them is not counted
  double share = 0;              // share of the limit, 0: not known; above 1 if data stays in caches
  bool memory_is_limit = false;  // else arithmetic is the limit
};

// Returns the position of `flop` operations and `bytes` in `seconds`; 0 means not counted. If only one of them is
// counted, its peak is the limit.
RooflinePoint PlaceUnderRoof(const Roof& roof, double flop, double bytes, double seconds);

// Returns the value of the last --name=value or --name value in a command; "" if there is none. Dashes in names count
// as underscores, as for gflags.
std::string CommandFlag(const std::vector<std::string>& command, absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_ROOFLINE_H_
