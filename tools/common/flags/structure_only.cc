#include "tools/common/flags/structure_only.h"

#include "tools/common/run/given_flags.h"

namespace rutile {

absl::Status RefuseStructureFlags() {
  return RefuseFlags("with a knowledge graph",
                     {"species", "rad_order", "rad_cutoff", "ang_order", "ang_cutoff", "min_cutoff", "fingerprints",
                      "energy_key", "force_key", "stress_key", "virial_key", "runner_units", "config_key", "weight_key",
                      "atomic_energies", "max_energy", "max_forces", "shard", "threads"});
}

}  // namespace rutile
