#include "tools/train/trainer_flags/bucket_flags.h"

#include "lib/train/options/trainer_settings.h"

namespace rutile {

const SettingFlags<TrainerOptions>& BucketFlags() {
  static const auto* flags = new SettingFlags<TrainerOptions>(BucketSettings(), __FILE__);
  return *flags;
}

namespace {

const bool registered = BucketFlags().Register();

}  // namespace
}  // namespace rutile
