#include "tools/train/trainer_flags/ema_flags.h"

#include <gflags/gflags.h>

#include "lib/base/status_macros.h"
#include "tools/common/flags/setting_flags.h"

DEFINE_bool(ema, false,
            "Average the parameters exponentially over the steps. Validation, best.safetensors and last.safetensors "
            "use the average; checkpoints hold both. The flag is refused with lbfgs and schedule-free-adamw.");

namespace rutile {
namespace {

const SettingFlags<EmaOptions>& Flags() {
  static const auto* flags = new SettingFlags<EmaOptions>(EmaSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

}  // namespace

absl::StatusOr<std::optional<EmaOptions>> EmaOptionsFromFlags() {
  if (!FLAGS_ema) {
    RETURN_IF_ERROR(Flags().RefuseAll("without --ema"));
    return std::optional<EmaOptions>();
  }
  EmaOptions options;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  RETURN_IF_ERROR(CheckEmaOptions(options));
  return std::optional<EmaOptions>(options);
}

}  // namespace rutile
