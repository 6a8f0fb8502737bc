// Reads damaged files of kind kge/1: the result is one line that names the file, or a model of finite numbers.
// The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and as a test.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_init.h"
#include "lib/testing/damaged_file.h"

namespace {

std::string WholeFile() {
  rutile::TrainedKge model;
  model.names.entities = {"hydrogen", "helium", "lithium"};
  model.names.relations = {"below", "beside"};
  model.names.entity_labels = {"H", "He", "Li"};
  rutile::KgeOptions& options = model.shape.options;
  options.embedding_dim = 6;
  options.embedding_height = 2;
  options.embedding_width = 3;
  options.output_channels = 2;
  options.kernel_height = options.kernel_width = 2;
  model.shape.num_entities = 3;
  model.shape.num_relations = 4;  // two, and their inverses
  model.parameters = rutile::InitialKgeTensor(model.shape, 5, rutile::DType::kF32);
  const rutile::ScratchFile file;
  CHECK(rutile::WriteKgeModel(file.path(), model).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::TrainedKge> model = rutile::ReadKgeModel(path);
  rutile::CheckOutcome(model, path);
  if (!model.ok()) return;
  CHECK(rutile::CheckKgeOptions(model->shape.options).ok());
  CHECK_EQ(model->parameters.num_elements(), model->shape.offsets().size);
  CHECK_EQ(static_cast<int64_t>(model->names.entities.size()), model->shape.num_entities);
  for (const double value : model->parameters.ToDoubles()) CHECK(std::isfinite(value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
