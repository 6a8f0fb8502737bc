// Reads damaged files of kind influence/1: the result is one line that names the file, or an influence of consistent
// sizes. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and as a test.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/tracin.h"
#include "lib/testing/damaged_file.h"

namespace {

rutile::InfluenceDescription Description() {
  rutile::InfluenceDescription description;
  description.model = "dense";
  description.checkpoints = {"c1"};
  description.checkpoint_sha256 = {"12"};
  description.rates = {0.5};
  description.train_sha256 = "56";
  description.test_sha256 = "78";
  description.test_names = {"two", "zero"};
  description.top_k = 3;
  description.shard = description.num_shards = 1;
  return description;
}

std::string WholeFile() {
  rutile::DenseProducts products(20, 3, 0);
  const std::vector<rutile::GradientProducts*> checkpoints = {&products};
  std::vector<int64_t> train(20);
  std::iota(train.begin(), train.end(), 0);
  rutile::TracInOptions options;
  options.top_k = 3;
  options.train_self = options.test_self = options.part_scores = true;
  options.parts = {{"a", {0}}, {"c", {3}}};
  const auto influence = rutile::ComputeInfluence({checkpoints, {0.5}, train, {2, 0}, {}}, options, {});
  CHECK(influence.ok()) << influence.status();
  const rutile::ScratchFile file;
  CHECK(rutile::WriteInfluence(file.path(), *influence, Description(), {}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::InfluenceFile> file = rutile::ReadInfluence(path);
  rutile::CheckOutcome(file, path);
  if (!file.ok()) return;
  CHECK_EQ(file->description.test_names.size(), file->influence.tests.size());
  rutile::CheckOutcome(rutile::MergeInfluenceFiles({*file}), path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
