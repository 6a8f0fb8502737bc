// Reads damaged files of kind potential/1: the result is one line that names the file, or a potential of finite
// numbers. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and as a
// test.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/testing/damaged_file.h"

namespace {

std::string WholeFile() {
  const rutile::ScratchFile file;
  CHECK(rutile::WritePotential(file.path(), rutile::SmallTiO2Potential(1)).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::Potential> potential = rutile::ReadPotential(path);
  rutile::CheckOutcome(potential, path);
  if (!potential.ok()) return;
  CHECK(potential->descriptor.Validate().ok());
  CHECK_EQ(potential->parameters.num_elements(), potential->shape.num_parameters());
  for (const double value : potential->parameters.ToDoubles()) CHECK(std::isfinite(value));
  for (const double value : potential->feature_scaling.mean) CHECK(std::isfinite(value));
  for (const double value : potential->feature_scaling.scale) CHECK(std::isfinite(value));
  for (const double value : potential->atomic_energies) CHECK(std::isfinite(value));
  CHECK(std::isfinite(potential->energy_scaling.shift) && std::isfinite(potential->energy_scaling.scale));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
