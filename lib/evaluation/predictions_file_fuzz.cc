// Reads damaged files of kind predictions/1: the result is one line that names the file, or predictions of which tables
// and errors can be made. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with
// libFuzzer, and as a test.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/evaluation/prediction_tables.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/damaged_file.h"

namespace {

std::string WholeFile() {
  std::vector<rutile::StructurePrediction> predictions(3);
  for (size_t s = 0; s < predictions.size(); ++s) {
    rutile::StructurePrediction& p = predictions[s];
    p.name = "frame#" + std::to_string(s);
    p.config_type = s == 0 ? "bulk" : "surface";
    p.composition = "TiO";
    p.num_atoms = 2;
    p.element = {22, 8};
    p.reference_energy = -10.5;
    p.predicted_energy = -10.25;
    p.atom_energy = {-5, -5.25};
    p.reference_force = {1, 2, 3, -1, -2, -3};
    p.predicted_force = {1, 2, 2.5, -1, -2, -2.5};
    p.force_spread = {0.5, 0.25};
    p.energy_spread = 0.125;
    p.atoms_outside = 1;
  }
  const rutile::ScratchFile file;
  CHECK(rutile::WritePredictions(file.path(), predictions, {}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::TensorFile> file = rutile::ReadTensorFile(path);
  rutile::CheckOutcome(file, path);
  if (!file.ok()) return;
  const auto predictions = rutile::DecodePredictions(*file);
  rutile::CheckOutcome(predictions, path);
  if (!predictions.ok()) return;
  CHECK(!rutile::PredictionsToTsv(*predictions).empty());
  CHECK(!rutile::ErrorsToTsv(rutile::ComputeErrors(*predictions)).empty());
  rutile::ExtrapolationWarning(*predictions);
  const absl::Status written = rutile::WriteForcesTsv("/dev/null", *predictions);
  CHECK(written.ok()) << written;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
