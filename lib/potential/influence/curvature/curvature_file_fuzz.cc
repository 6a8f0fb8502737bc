// Reads damaged files of kinds curvature/1 and /2: the result is one line that names the file, or an inverse of
// consistent size. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with
// libFuzzer, and as a test.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/testing/damaged_file.h"

namespace {

std::string WholeFile(bool rows) {
  rutile::Curvature curvature;
  curvature.model = "12";
  curvature.columns = {{2, 4}, {7, 9}};
  curvature.inverse = rows ? rutile::InverseOfScaledRows({{1, 2, 3, 4, 5, 6, 7, 8}, {0.5, 1, 2, 0.1}}, nullptr)
                           : rutile::InverseOfFactor({1.5, 0, 0, 0, -2, 3, 0, 0, 0.1, 0.2, 0.3, 0, 4, 5, 6, 7});
  curvature.energy_scale = 0.5;
  curvature.force_scale = 2;
  curvature.energy_curvature = 1;
  curvature.metadata = {{"damping", "auto"}};
  const rutile::ScratchFile file;
  CHECK(rutile::WriteCurvature(file.path(), curvature).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::Curvature> file = rutile::ReadCurvature(path);
  rutile::CheckOutcome(file, path);
  if (!file.ok()) return;
  const int64_t size = file->size();
  CHECK_GT(size, 0);
  CHECK_EQ(file->inverse->size(), size);
  CHECK(file->energy_scale > 0 && file->force_scale > 0 && file->energy_curvature >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& factor = *new std::string(WholeFile(/*rows=*/false));
  static const std::string& rows = *new std::string(WholeFile(/*rows=*/true));
  rutile::ForEachDamage(factor, data, size, Read);
  rutile::ForEachDamage(rows, data, size, Read);
  return 0;
}
