#include "tools/train/trainer_flags/validation_flags.h"

#include "lib/base/status_macros.h"
#include "lib/train/options/trainer_settings.h"

namespace rutile {
namespace {

const SettingFlags<ValidationOptions>& Flags() {
  static const auto* flags = new SettingFlags<ValidationOptions>(ValidationSettings(), __FILE__);
  return *flags;
}

}  // namespace

const SettingFlags<TrainerOptions>& MonitorFlags() {
  static const auto* flags = new SettingFlags<TrainerOptions>(MonitorSettings(), __FILE__);
  return *flags;
}

namespace {

const bool registered = Flags().Register() && MonitorFlags().Register();

}  // namespace

absl::StatusOr<ValidationOptions> ValidationOptionsFromFlags() {
  ValidationOptions options;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  RETURN_IF_ERROR(CheckValidationOptions(options));
  return options;
}

}  // namespace rutile
