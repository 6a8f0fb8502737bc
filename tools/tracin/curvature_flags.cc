#include "tools/tracin/curvature_flags.h"

#include <gflags/gflags.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    damping, "auto",
    "Structures, of the Gauss-Newton matrix: trace:C (C times the mean of its diagonal), a number above 0, or "
    "auto: what the run itself damps with, Adam's sqrt(v) over the sum of learning rates (sgd: 1 over it); "
    "trace:0.1 where that is unknown.");
DEFINE_string(
    probes, "auto",
    "Structures, of the Gauss-Newton matrix: random combinations of the outputs of each structure, 1 to 1000; "
    "all: each output by itself; auto: all up to 30000 outputs in all, else 8.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

std::string CurvatureFlags::Text() const {
  if (from_run) return "auto";
  return trace > 0 ? absl::StrCat("trace:", trace) : absl::StrCat(constant);
}

absl::StatusOr<CurvatureFlags> CurvatureFromFlags(const TracinFlags& flags) {
  CurvatureFlags result;
  if (!flags.gauss_newton) {
    RETURN_IF_ERROR(RefuseFlags("without --precondition=gauss-newton, --mode=leave-one-out or --mode=curvature",
                                {"damping", "probes"}));
    return result;
  }
  if (FLAGS_damping != "auto") {
    result.from_run = false;
    absl::string_view text = FLAGS_damping;
    double* const value = absl::ConsumePrefix(&text, "trace:") ? &result.trace : &result.constant;
    if (!absl::SimpleAtod(text, value) || !std::isfinite(*value) || *value <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--damping=", FLAGS_damping, ": expected auto, trace:C or a number above 0, as in trace:0.1"));
    }
  }
  if (FLAGS_probes == "all") {
    result.probes = 0;
  } else if (FLAGS_probes != "auto" &&
             (!absl::SimpleAtoi(FLAGS_probes, &result.probes) || result.probes < 1 || result.probes > 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--probes=", FLAGS_probes, ": expected auto, all or a number from 1 to 1000"));
  }
  return result;
}

}  // namespace rutile
