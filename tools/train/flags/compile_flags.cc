#include "tools/train/flags/compile_flags.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/network/kernel_tuner.h"
#include "lib/task/sampling_policy.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/flag_domain.h"

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

const SettingFlags<CompileOptions>& Flags() {
  static const auto* flags = new SettingFlags<CompileOptions>(CompileSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

}  // namespace

absl::StatusOr<CompileOptions> CompileOptionsFromFlags(const TrainerOptions& trainer) {
  CompileOptions options;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  if (trainer.compile_mode != CompileMode::kCompile) {
    RETURN_IF_ERROR(
        Flags().RefuseAll(absl::StrCat("with --compile_mode=", kCompileModeNames.Name(trainer.compile_mode))));
  }
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  options.batch_size = trainer.batch_size;
  options.with_replacement = trainer.sampling_policy != SamplingPolicy::kUniform;
  if (options.cache_directory.empty()) options.cache_directory = DefaultCacheDirectory();
  return options;
}

}  // namespace rutile
