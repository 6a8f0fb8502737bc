#include "tools/train/flags/compile_flags.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/network/kernel_tuner.h"
#include "lib/task/sampling_policy.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(compile_preset, "default",
              "What to prepare for --compile_mode=compile: default, reduce-overhead or max-autotune. With default, "
              "nothing is prepared; reduce-overhead reserves the memory of the largest batch; max-autotune does so, "
              "too, and spends about two seconds on finding the fastest form of the kernels.");
DEFINE_string(compile_cache_dir, "",
              "Directory that stores the results of --compile_preset=max-autotune. If empty, it is rutile in "
              "$XDG_CACHE_HOME, else in ~/.cache. A damaged entry is replaced.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

absl::StatusOr<CompileOptions> CompileOptionsFromFlags(const TrainerOptions& trainer) {
  CompileOptions options;
  const absl::StatusOr<CompilePreset> preset = ParseCompilePreset(FLAGS_compile_preset);
  if (!preset.ok()) return absl::InvalidArgumentError(absl::StrCat("--", preset.status().message()));
  options.preset = *preset;
  const bool compiles = trainer.compile_mode == CompileMode::kCompile;
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--compile_mode=", CompileModeName(trainer.compile_mode)),
                               {{"compile_preset", compiles}, {"compile_cache_dir", compiles}}));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--compile_preset=", FLAGS_compile_preset),
                               {{"compile_cache_dir", options.preset == CompilePreset::kMaxAutotune}}));
  options.batch_size = trainer.batch_size;
  options.with_replacement = trainer.sampling_policy != SamplingPolicy::kUniform;
  options.cache_directory = FLAGS_compile_cache_dir.empty() ? DefaultCacheDirectory() : FLAGS_compile_cache_dir;
  return options;
}

}  // namespace rutile
