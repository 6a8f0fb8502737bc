#include "tools/evaluate/export_aenet.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/model/aenet_file.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    export_aenet, "",
    "Write the model as aenet reads it, SPECIES.nn.ascii for each species, into this directory, and do nothing "
    "else.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

bool WantsAenet() { return !FLAGS_export_aenet.empty(); }

absl::Status ExportToAenet(const ToolRun& run, const Models& models) {
  RETURN_IF_ERROR(RefuseFlags("with --export_aenet, which evaluates nothing",
                              {"output_dir", "output_xyz", "frames", "config_type", "forces", "check", "train_log",
                               "shard", "max_energy_rmse", "max_force_rmse", "max_stress_rmse"}));
  if (run.args.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--export_aenet needs a model and nothing else, found ", run.args.size(), " arguments"));
  }
  if (models.potentials.size() > 1) {
    return absl::InvalidArgumentError("--export_aenet writes one model: export the members of a committee one by one");
  }
  RETURN_IF_ERROR(WriteAenetPotentials(FLAGS_export_aenet, models.potentials[0]));
  PrintMessage(absl::StrCat("wrote ", FLAGS_export_aenet, "/SPECIES.nn.ascii"));
  return absl::OkStatus();
}

}  // namespace rutile
