#include "tools/common/schedule_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/given_flags.h"

DEFINE_string(lr_scheduler, "constant", "constant, step, exponential, cosine or plateau.");
DEFINE_double(lr_factor, 0.1, "Factor of step, exponential and plateau.");
DEFINE_int64(lr_period, 0, "Epochs between drops (step), or until the lowest rate (cosine; 0: the whole run).");
DEFINE_double(min_learning_rate, 0, "No schedule goes below it.");
DEFINE_int64(lr_patience, 10, "Validations without improvement after which plateau lowers the rate.");
DEFINE_double(lr_threshold, 1e-4, "Relative improvement that counts as one (plateau).");
DEFINE_int64(warmup_steps, 0, "Optimiser steps over which the rate rises linearly, from a third of its value.");

namespace rutile {

absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags() {
  ScheduleOptions options;
  ASSIGN_OR_RETURN(options.kind, ParseScheduleKind(FLAGS_lr_scheduler));
  const bool step = options.kind == ScheduleKind::kStep;
  const bool exponential = options.kind == ScheduleKind::kExponential;
  const bool cosine = options.kind == ScheduleKind::kCosine;
  const bool plateau = options.kind == ScheduleKind::kPlateau;
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--lr_scheduler=", FLAGS_lr_scheduler),
                               {{"lr_factor", step || exponential || plateau},
                                {"lr_period", step || cosine},
                                {"min_learning_rate", step || exponential || cosine || plateau},
                                {"lr_patience", plateau},
                                {"lr_threshold", plateau}}));
  options.factor = FLAGS_lr_factor;
  options.period = FLAGS_lr_period;
  options.min_learning_rate = FLAGS_min_learning_rate;
  options.patience = FLAGS_lr_patience;
  options.threshold = FLAGS_lr_threshold;
  options.warmup_steps = FLAGS_warmup_steps;
  RETURN_IF_ERROR(CheckScheduleOptions(options));
  return options;
}

}  // namespace rutile
