#include "tools/tracin/curvature_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    damping, "auto",
    "Of the Gauss-Newton matrix: trace:C (C times the mean of its diagonal), a number above 0, or auto: what the run "
    "itself damps with, Adam's sqrt(v) over the sum of learning rates (sgd: 1 over it); where that is unknown, "
    "trace:0.1 for structures and trace:1 for triples.");
DEFINE_string(
    probes, "auto",
    "Of the Gauss-Newton matrix: random combinations of the outputs of each structure, or of the scores of each query "
    "(head, relation), 1 to 1000; all: each by itself; auto: all up to 30000 outputs with 200 million derivatives, or "
    "4 "
    "million scores, else 8.");

namespace rutile {
std::string CurvatureFlags::Text() const {
  if (from_run) return "auto";
  return trace > 0 ? absl::StrCat("trace:", trace) : absl::StrCat(constant);
}

absl::StatusOr<CurvatureFlags> CurvatureFromFlags(const TracinFlags& flags) {
  CurvatureFlags result;
  if (!flags.gauss_newton) {
    RETURN_IF_ERROR(
        RefuseFlags("without --precondition=gauss-newton or ek-fac, --mode=leave-one-out or --mode=curvature",
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

absl::StatusOr<std::vector<std::vector<double>>> DampingsOfRun(const CheckpointSet& checkpoint_set,
                                                               const std::vector<ParameterSlice>& slices) {
  if (checkpoint_set.are_models()) {
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint_set.paths[0], ": a model file does not say how its run was damped"));
  }
  std::vector<std::vector<double>> dampings;
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    ASSIGN_OR_RETURN(std::vector<double> damping, RunDamping(checkpoint, slices));
    dampings.push_back(std::move(damping));
  }
  return dampings;
}

}  // namespace rutile
