#include "tools/train/trainer_flags/log_flags.h"

#include "lib/train/options/trainer_settings.h"

namespace rutile {

const SettingFlags<TrainerOptions>& LogFlags() {
  static const auto* flags = new SettingFlags<TrainerOptions>(LogSettings(), __FILE__);
  return *flags;
}

namespace {

const bool registered = LogFlags().Register();

}  // namespace
}  // namespace rutile
