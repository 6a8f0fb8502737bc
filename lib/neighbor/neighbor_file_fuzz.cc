// Reads damaged files of kind atomistic.neighbors/1: the result is one line that names the file, or structures, pairs
// and triplets that can be read to their ends. The input of the target damages a whole file
// (lib/testing/damaged_file.h). Runs with libFuzzer, and as a test.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/triplets.h"
#include "lib/structure/structure.h"
#include "lib/testing/damaged_file.h"

namespace {

std::string WholeFile() {
  rutile::Structure salt;
  salt.name = "salt#0";
  salt.element = {12, 8};
  salt.position = {0.1, -4.3, 0, 2.1, 2.0, 10.7};
  salt.cell = {0, 2.1, 2.1, 2.1, 0, 2.1, 2.1, 2.1, 0.1};
  salt.pbc = {true, true, true};
  salt.energy = -11.5;
  salt.force = {0, 0, 1, 0, 0, -1};
  rutile::NeighborFileOptions options;
  options.cutoff = 2.5;
  options.triplet_cutoff = 2.2;
  const rutile::ScratchFile file;
  auto writer = rutile::NeighborWriter::Create(file.path(), options);
  CHECK(writer.ok()) << writer.status();
  rutile::NeighborSearch search(options.cutoff);
  rutile::NeighborList list;
  rutile::TripletList triplets;
  for (int copy = 0; copy < 2; ++copy) {
    CHECK(search.Compute(salt, &list).ok());
    CHECK(rutile::FindTriplets(list, options.triplet_cutoff, &triplets).ok());
    CHECK(writer->Append(salt, list, &triplets, 1).ok());
  }
  CHECK(writer->Finish({{"config_key", "config_type"}}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void Read(const std::string& path) {
  const absl::StatusOr<rutile::NeighborFile> file = rutile::ReadNeighbors(path);
  rutile::CheckOutcome(file, path);
  if (!file.ok()) return;
  int64_t sum = 0;
  for (size_t s = 0; s < file->names.size(); ++s) {
    const rutile::PairView pairs = file->pairs(s);
    for (int64_t i = 0; i < pairs.num_atoms(); ++i) {
      for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) sum += pairs.j[p];
    }
  }
  CHECK_GE(sum, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& whole = *new std::string(WholeFile());
  rutile::ForEachDamage(whole, data, size, Read);
  return 0;
}
