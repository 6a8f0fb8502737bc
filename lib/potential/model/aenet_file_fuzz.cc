// Reads damaged files of aenet, binary and text: the result is one line that names the file, or a network of finite
// numbers, and a model that needs no more than that. The input of the target damages a whole file of either form
// (lib/testing/damaged_file.h), and is read as a file of its own. Runs with libFuzzer, and as a test.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/file/file.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/aenet/aenet_network.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/testing/damaged_file.h"

namespace {

const rutile::AenetNetwork& Network(int species) {
  static const auto& networks = *new std::vector<rutile::AenetNetwork>{
      *rutile::ToAenet(rutile::SmallTiO2Potential(1), 0), *rutile::ToAenet(rutile::SmallTiO2Potential(1), 1)};
  return networks[species];
}

void ReadBytes(absl::string_view bytes, const std::string& path) {
  const absl::StatusOr<rutile::AenetNetwork> network = rutile::ParseAenet(bytes, path);
  rutile::CheckOutcome(network, path);
  if (!network.ok()) return;
  for (const double value : network->weights) CHECK(std::isfinite(value));
  // The other species has a file that is whole.
  const absl::StatusOr<rutile::Potential> potential = rutile::FromAenet({*network, Network(1)}, {path, path});
  rutile::CheckOutcome(potential, path);
  if (!potential.ok()) return;
  CHECK(potential->descriptor.Validate().ok());
  CHECK_EQ(potential->parameters.num_elements(), potential->shape.num_parameters());
  for (const double value : potential->feature_scaling.mean) CHECK(std::isfinite(value));
  for (const double value : potential->feature_scaling.scale) CHECK(std::isfinite(value));
  CHECK(std::isfinite(potential->energy_scaling.shift) && std::isfinite(potential->energy_scaling.scale));
}

void ReadFile(const std::string& path) {
  const absl::StatusOr<rutile::FileContents> contents = rutile::FileContents::Open(path);
  CHECK(contents.ok()) << contents.status();
  ReadBytes(contents->data(), path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& binary = *new std::string(rutile::AenetBinary(Network(0)));
  static const std::string& text = *new std::string(rutile::AenetText(Network(0)));
  rutile::ForEachDamage(binary, data, size, ReadFile);
  rutile::ForEachDamage(text, data, size, ReadFile);
  ReadBytes(absl::string_view(reinterpret_cast<const char*>(data), size), "Ti.nn");
  return 0;
}
