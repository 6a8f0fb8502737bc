#include "tools/train/trainer_flags/limit_flags.h"

#include "lib/base/status_macros.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {
namespace {

const SettingFlags<StopOptions>& Flags() {
  static const auto* flags = new SettingFlags<StopOptions>(StopSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

}  // namespace

absl::StatusOr<StopOptions> StopOptionsFromFlags() {
  StopOptions options;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  RETURN_IF_ERROR(CheckStopOptions(options));
  return options;
}

}  // namespace rutile
