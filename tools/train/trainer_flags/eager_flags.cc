#include "tools/train/trainer_flags/eager_flags.h"

#include "lib/task/eager_options.h"
#include "lib/task/eager_settings.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {
namespace {

const bool registered = EagerFlags().Register();

}  // namespace

const SettingFlags<EagerOptions>& EagerFlags() {
  static const auto* flags = new SettingFlags<EagerOptions>(EagerSettings(), __FILE__);
  return *flags;
}

}  // namespace rutile
