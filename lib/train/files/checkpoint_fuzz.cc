// Reads damaged files of kind checkpoint/1: the result is one line that names the file, or a checkpoint of the sizes
// that were asked for. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer,
// and as a test.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/testing/damaged_file.h"
#include "lib/train/files/checkpoint.h"

namespace {

const std::vector<rutile::ParameterSlice>& Slices() {
  static const auto& slices = *new std::vector<rutile::ParameterSlice>{{"net.weight", 0, {2, 2}}, {"net.bias", 4, {}}};
  return slices;
}

std::string WholeFile() {
  rutile::Checkpoint checkpoint;
  checkpoint.epoch = 12;
  checkpoint.batch = 3;
  checkpoint.step = 1234;
  checkpoint.parameters = rutile::Tensor::Of<float>({1, 2, 3, 4, 5});
  checkpoint.best_parameters = rutile::Tensor::Of<float>({5, 4, 3, 2, 1});
  checkpoint.epoch_sums = rutile::TermSums(2);
  checkpoint.loss_weight = {0.5, 0.25};
  checkpoint.best_loss = 0.1;
  checkpoint.best_epoch = 11;
  checkpoint.optimizer.Set("exp_avg", rutile::Tensor::Of<float>({1, 1, 1, 1, 1}));
  checkpoint.sampling_weight = {1, 3};
  checkpoint.config = "{\"seed\":1}";
  const rutile::ScratchFile file;
  CHECK(rutile::SaveCheckpoint(file.path(), checkpoint, Slices(), {}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  rutile::CheckOutcome(rutile::ReadCheckpointPlace(path), path);
  const auto checkpoint = rutile::LoadCheckpoint(path, Slices(), rutile::DType::kF32);
  rutile::CheckOutcome(checkpoint, path);
  if (!checkpoint.ok()) return;
  CHECK_EQ(checkpoint->parameters.num_elements(), 5);
  CHECK_EQ(checkpoint->epoch_sums.sum.size(), 2u);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
