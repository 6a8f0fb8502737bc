// Tests AtomicData with preloaded files: the data is the same, and there is one clear error if memory is too small.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/file/file.h"
#include "lib/file/preload.h"
#include "lib/neighbor/pair_view.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/atomic_inputs.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kFrames[] =
    "2\n"
    "Lattice=\"3 0 0 0 3 0 0 0 3\" pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-10\n"
    "O 0 0 0 0.5 0 0\n"
    "Ti 1.5 1.5 1.6 -0.5 0 0\n"
    "1\n"
    "pbc=\"F F F\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-3\n"
    "O 0 0 0 0 0 7\n";

class AtomicDataPreloadTest : public ::testing::TestWithParam<Preload> {
 protected:
  AtomicDataPreloadTest() {
    std::string directory = ::testing::TempDir() + "/data-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
    raw_ = directory_ + "/raw.extxyz";
    EXPECT_TRUE(WriteFileAtomically(raw_, kFrames).ok());
    options_.default_descriptor.emplace();
    options_.default_descriptor->chebyshev().species = {22, 8};
    options_.default_descriptor->chebyshev().rad_cutoff = 3.5;
    options_.default_descriptor->chebyshev().ang_cutoff = 2.5;
    options_.preload.shm_root = directory_;
  }

  // Writes neighbors to a file in the test's directory and returns its path.
  std::string NeighborsFile() {
    AtomicData data = AtomicData::Read({raw_}, options_).value();
    EXPECT_TRUE(data.CacheNeighbors(false, directory_ + "/cache", 1, 1).ok());
    return std::filesystem::directory_iterator(directory_ + "/cache")->path();
  }

  static std::vector<int32_t> Neighbors(const AtomicData& data) {
    std::vector<int32_t> all;
    for (int64_t s = 0; s < data.num_structures(); ++s) {
      const PairView pairs = data.pairs(s);
      all.insert(all.end(), pairs.j + pairs.offset.front(), pairs.j + pairs.offset.back());
    }
    return all;
  }

  std::string directory_, raw_;
  AtomicDataOptions options_;
};

TEST_P(AtomicDataPreloadTest, SameDataFromFilesAndFromACacheOfThem) {
  const std::string file = NeighborsFile();
  const AtomicData mapped = AtomicData::Read({file}, options_).value();
  options_.preload.preload = GetParam();
  const absl::StatusOr<AtomicData> preloaded = AtomicData::Read({file}, options_);
  ASSERT_TRUE(preloaded.ok()) << preloaded.status();
  EXPECT_FALSE(Neighbors(mapped).empty());
  EXPECT_EQ(Neighbors(*preloaded), Neighbors(mapped));
  EXPECT_EQ(preloaded->position(0)[5], 1.6);
  EXPECT_FALSE(preloaded->exceeds_memory());
  AtomicData cached = AtomicData::Read({raw_}, options_).value();
  ASSERT_TRUE(cached.CacheNeighbors(false, directory_ + "/cache", 1, 1).ok());
  EXPECT_EQ(Neighbors(cached), Neighbors(mapped));
  EXPECT_EQ(FileExists(PreloadDirectory(options_.preload)), GetParam() == Preload::kShm);
}

// Room is checked before any byte is read: this file of 8 TB is a hole behind a header.
TEST_P(AtomicDataPreloadTest, RefusesWhatDoesNotFit) {
  const std::string file = NeighborsFile();
  std::error_code error;
  std::filesystem::resize_file(file, uintmax_t{1} << 43, error);
  if (error) GTEST_SKIP() << "no such large files here";
  options_.preload.preload = GetParam();
  const absl::Status status = AtomicData::Read({file}, options_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs 8796093022208 bytes"));
}

INSTANTIATE_TEST_SUITE_P(All, AtomicDataPreloadTest, ::testing::Values(Preload::kRam, Preload::kShm),
                         [](const auto& info) { return std::string(kPreloadNames.Name(info.param)); });

}  // namespace
}  // namespace rutile
