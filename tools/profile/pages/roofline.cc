#include "tools/profile/pages/roofline.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace rutile {

std::string CommandFlag(const std::vector<std::string>& command, absl::string_view name) {
  std::string found;
  for (size_t i = 1; i < command.size(); ++i) {
    absl::string_view word = command[i];
    if (!absl::ConsumePrefix(&word, "--") && !absl::ConsumePrefix(&word, "-")) continue;
    const size_t equals = word.find('=');
    if (absl::StrReplaceAll(word.substr(0, equals), {{"-", "_"}}) != name) continue;
    if (equals != absl::string_view::npos) {
      found = std::string(word.substr(equals + 1));
    } else {
      found = i + 1 < command.size() ? command[i + 1] : "";
    }
  }
  return found;
}

bool RoundsInMixedPrecision(Stage stage) {
  switch (stage) {
    case Stage::kForward:
    case Stage::kBackward:
    case Stage::kStep:
    case Stage::kNetwork:
    case Stage::kTangents:
    case Stage::kFc:
    case Stage::kScores:
      return true;
    default:
      return false;
  }
}

Roof RoofOf(const ProfileRecord& record, const MachinePeaks& peaks, Stage stage) {
  const std::string precision = CommandFlag(record.command, "precision");
  const bool rounded = stage == Stage::kRoundedScores || (precision == "bf16-mixed" && RoundsInMixedPrecision(stage));
  const bool fp64 = precision == "fp64";
  const bool one = record.cpu_s <= 1.2 * record.data.wall_s;
  Roof roof;
  // If others use the machine, all processors together may be measured slower than one.
  const auto peak = [one](double of_one, double of_all) { return one ? of_one : std::max(of_one, of_all); };
  roof.flop = fp64 ? peak(peaks.fma_fp64_one, peaks.fma_fp64_all) : peak(peaks.fma_fp32_one, peaks.fma_fp32_all);
  roof.bytes = peak(peaks.memory_read_one, peaks.memory_read_all);
  // Products in 16 bits were measured on all processors. If they are no faster, fp32 is the limit.
  double of_bf16 = rounded ? peaks.matmul_bf16 : 0;
  if (one && peaks.fma_fp32_all > 0) of_bf16 *= std::min(1.0, peaks.fma_fp32_one / peaks.fma_fp32_all);
  const bool bf16 = of_bf16 > roof.flop;
  if (bf16) roof.flop = of_bf16;
  const int processors = one ? 1 : std::max(1, record.machine.machine.usable_processors);
  const char* const numbers = fp64 ? "fp64" : bf16 ? "bf16" : "fp32";
  roof.what = absl::StrCat(numbers, ", ", processors, processors == 1 ? " processor" : " processors");
  return roof;
}

RooflinePoint PlaceUnderRoof(const Roof& roof, double flop, double bytes, double seconds) {
  RooflinePoint point;
  if (seconds <= 0) return point;
  if (flop > 0 && bytes > 0) point.intensity = flop / bytes;
  // These are the least times of arithmetic and of memory; the longer one is the limit.
  const double flop_s = flop > 0 && roof.flop > 0 ? flop / roof.flop : 0;
  const double bytes_s = bytes > 0 && roof.bytes > 0 ? bytes / roof.bytes : 0;
  point.share = std::max(flop_s, bytes_s) / seconds;
  point.memory_is_limit = bytes_s > flop_s;
  return point;
}

}  // namespace rutile
