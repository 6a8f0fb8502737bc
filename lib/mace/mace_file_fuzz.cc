// Reads damaged files of kind mace/1: the result is one line that names the file, or a model of finite numbers whose
// sizes fit. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and as a
// test.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/mace/mace_evaluator.h"
#include "lib/mace/mace_file.h"
#include "lib/mace/mace_testing.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/damaged_file.h"

namespace {

using rutile::MaceModel;

std::string WholeFile() {
  const rutile::ScratchFile file;
  CHECK(rutile::WriteMace(file.path(), rutile::RandomMace({}, 1)).ok());
  return rutile::WithoutChecksums(file.Contents());
}

absl::StatusOr<std::shared_ptr<const MaceModel>> ReadMace(const std::string& path) {
  const absl::StatusOr<rutile::TensorFile> file = rutile::ReadTensorFile(path);
  if (!file.ok()) return file.status();
  return rutile::DecodeMace(*file);
}

void Read(const std::string& path) {
  const absl::StatusOr<std::shared_ptr<const MaceModel>> model = ReadMace(path);
  rutile::CheckOutcome(model, path);
  if (!model.ok()) return;
  CHECK((*model)->neighborhood.Validate().ok());
  for (const double value : (*model)->atomic_energies) CHECK(std::isfinite(value));
  rutile::MaceEvaluator evaluator(*model);  // copies all matrices
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
