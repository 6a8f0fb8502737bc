// The table of EagerOptions: names, help, and what they mean for a resumed run.

#ifndef RUTILE_LIB_TASK_EAGER_SETTINGS_H_
#define RUTILE_LIB_TASK_EAGER_SETTINGS_H_

#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/task/eager_options.h"
#include "lib/task/precision.h"

namespace rutile {

// What a training run may be told. The options have the mixed ones alone: fp32 and fp64 are the type of the parameters,
// which the task's options have, and read as kAuto here.
inline constexpr Precision kTrainingPrecisions[] = {Precision::kAuto, Precision::kFp32, Precision::kFp64,
                                                    Precision::kBf16Mixed, Precision::kFp16Mixed};

// precision, float32_matmul_precision, device.
absl::Span<const Setting<EagerOptions>> EagerSettings();

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_SETTINGS_H_
