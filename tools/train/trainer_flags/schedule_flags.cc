#include "tools/train/trainer_flags/schedule_flags.h"

#include "lib/base/status_macros.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {
namespace {

const SettingFlags<ScheduleOptions>& Flags() {
  static const auto* flags = new SettingFlags<ScheduleOptions>(ScheduleSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

}  // namespace

absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags(ScheduleKind open) {
  ScheduleOptions options;
  options.kind = open;
  RETURN_IF_ERROR(Flags().CopyTo("lr_scheduler", &options));
  options.per_step = options.kind == ScheduleKind::kOneCycle;  // --lr_interval=auto
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  RETURN_IF_ERROR(CheckScheduleOptions(options));
  return options;
}

}  // namespace rutile
