#include "tools/evaluate/export_aenet.h"

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/structure/element.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    export_aenet, "",
    "Write the model as aenet reads it into this directory, and do nothing else: SPECIES.nn for each species, "
    "and the same as text, SPECIES.nn.ascii.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// Prints how aenet's own program and LAMMPS use the files, which are directory/SPECIES.nn.
void PrintNextSteps(absl::Span<const uint8_t> species, const std::vector<std::string>& files) {
  std::string symbols, networks;
  for (size_t s = 0; s < species.size(); ++s) {
    absl::StrAppend(&symbols, " ", ElementSymbol(species[s]));
    absl::StrAppend(&networks, " | ", ElementSymbol(species[s]), " ", files[s]);
  }
  PrintMessage(absl::StrCat("aenet's predict.x reads them by these lines of predict.in: NETWORKS", networks));
  PrintMessage(absl::StrCat("LAMMPS with aenet's pair style reads them by: pair_style aenet | pair_coeff * * v00",
                            symbols, " ", FLAGS_export_aenet, "/**.nn", symbols,
                            " (the last elements are those of the atom types)"));
}

}  // namespace

bool WantsAenet() { return !FLAGS_export_aenet.empty(); }

absl::Status ExportToAenet(const ToolRun& run, const Models& models) {
  RETURN_IF_ERROR(RefuseFlags(
      "with --export_aenet, which evaluates nothing",
      {"output_dir", "output_xyz", "frames", "config_type", "forces", "check", "train_log", "shard", "uncertainty",
       "select", "splines_output", "spline_knots", "max_energy_rmse", "max_force_rmse", "max_stress_rmse"}));
  if (run.args.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--export_aenet needs a model and nothing else, found ", run.args.size(), " arguments"));
  }
  RETURN_IF_ERROR(RefuseMace(models.potentials[0], models.names[0], "--export_aenet"));
  if (models.potentials.size() > 1) {
    return absl::InvalidArgumentError("--export_aenet writes one model: export the members of a committee one by one");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   WriteAenetPotentials(FLAGS_export_aenet, models.potentials[0]));
  PrintMessage(absl::StrCat("wrote ", absl::StrJoin(files, " and "), ", and the same as text (.ascii)"));
  PrintNextSteps(models.potentials[0].descriptor.species(), files);
  return absl::OkStatus();
}

}  // namespace rutile
