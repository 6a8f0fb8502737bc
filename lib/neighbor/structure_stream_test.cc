#include "lib/neighbor/structure_stream.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

// Structure k has k % 3 + 1 atoms and, unless k % 4 = 3, the energy -k per atom; its group is k % 2.
std::string WriteStructures(const std::string& name, int count) {
  std::string text;
  for (int k = 0; k < count; ++k) {
    const int size = k % 3 + 1;
    absl::StrAppend(&text, size, "\ngroup=g", k % 2);
    if (k % 4 != 3) absl::StrAppend(&text, " energy=", -k * size);
    absl::StrAppend(&text, "\n");
    for (int i = 0; i < size; ++i) absl::StrAppend(&text, "O 0 0 ", i, "\n");
  }
  const std::string path = Temp(name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

// A consumer that passes numbers through its slots and fails at the structure of a given name.
class Recorder : public StructureConsumer {
 public:
  absl::Status Accept(const NeighborFile&) override { return absl::OkStatus(); }
  void Reserve(int64_t n) override {
    if (static_cast<int64_t>(slots_.size()) < n) slots_.resize(n);
  }
  absl::Status Compute(const StreamedStructure& in, int64_t slot, int) override {
    if (in.structure.name == fail_at) return absl::InvalidArgumentError(in.structure.name);
    slots_[slot] = absl::StrCat(in.structure.name.substr(in.structure.name.find('#') + 1), ":", in.structure.size());
    return absl::OkStatus();
  }
  absl::Status Emit(const StreamedStructure& in, int64_t slot) override {
    seen.push_back(slots_[slot]);
    const auto config = in.structure.info.find("config_type");
    configs.push_back(config == in.structure.info.end() ? "" : config->second);
    return absl::OkStatus();
  }

  std::string fail_at;
  std::vector<std::string> seen, configs;

 private:
  std::vector<std::string> slots_;
};

TEST(StructureStreamTest, OrderIsThatOfTheInputForAnyThreadsAndChunks) {
  const std::string path = WriteStructures("stream.xyz", 50);
  Recorder expected;
  ASSERT_TRUE(StreamStructures({path, path}, {}, 1000, &expected).ok());
  ASSERT_EQ(expected.seen.size(), 100u);
  EXPECT_EQ(expected.seen[52], "2:3");
  for (const int threads : {1, 2, 5}) {
    for (const int64_t chunk_atoms : {1, 7, 100}) {
      StructureStreamOptions options;
      options.num_threads = threads;
      int64_t progress = 0;
      options.on_progress = [&](int64_t n) { progress += n; };
      Recorder recorder;
      const absl::StatusOr<StructureStreamStats> stats =
          StreamStructures({path, path}, options, chunk_atoms, &recorder);
      ASSERT_TRUE(stats.ok()) << stats.status();
      EXPECT_EQ(recorder.seen, expected.seen);
      EXPECT_EQ(stats->structures, 100);
      EXPECT_EQ(progress, 100);
      EXPECT_EQ(stats->without_energy, 24);
      EXPECT_EQ(stats->without_force, 100);
      EXPECT_EQ(stats->without_stress, 100);
      EXPECT_TRUE(stats->elements.count() == 1 && stats->elements[8]);
      EXPECT_EQ(stats->highest_energy, 0);
      EXPECT_EQ(stats->lowest_energy, -49);
    }
  }
}

TEST(StructureStreamTest, ShardsFiltersAndGroups) {
  const std::string path = WriteStructures("some.xyz", 10);
  StructureStreamOptions options;
  options.shard = 2;
  options.num_shards = 4;
  options.config_key = "group";
  Recorder shard;
  ASSERT_TRUE(StreamStructures({path}, options, 3, &shard).ok());
  EXPECT_THAT(shard.seen, ElementsAre("1:2", "5:3", "9:1"));
  EXPECT_THAT(shard.configs, ElementsAre("g1", "g1", "g1"));

  options = {};
  options.max_energy = -4.5;
  options.atomic_energies = {{8, 1.0}};
  Recorder low;
  const absl::StatusOr<StructureStreamStats> stats = StreamStructures({path}, options, 3, &low);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_THAT(low.seen, ElementsAre("3:1", "4:2", "5:3", "6:1", "7:2", "8:3", "9:1"));  // 3 and 7 have no energy
  EXPECT_EQ(stats->filtered, 3);
  options.max_energy = -100;
  Recorder none;
  ASSERT_TRUE(WriteFileAtomically(Temp("one.xyz"), "1\nenergy=1\nO 0 0 0\n").ok());
  EXPECT_THAT(StreamStructures({Temp("one.xyz")}, options, 3, &none).status().message(),
              HasSubstr("no structure is left: 1 were read, 1 of them left out"));
}

TEST(StructureStreamTest, FiltersLeaveIsolatedAtoms) {
  const std::string path = Temp("references.xyz");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "1\nenergy=9 config_type=IsolatedAtom\nO 0 0 0\n1\nenergy=9\nO 0 0 0\n"
                                  "1\nenergy=-9\nO 0 0 0\n")
                  .ok());
  StructureStreamOptions options;
  options.max_energy = 0;
  Recorder kept;
  const absl::StatusOr<StructureStreamStats> stats = StreamStructures({path}, options, 3, &kept);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_THAT(kept.seen, ElementsAre("0:1", "2:1"));
  EXPECT_EQ(stats->filtered, 1);
  options.max_energy = -10;
  Recorder none;
  EXPECT_THAT(StreamStructures({path}, options, 3, &none).status().message(),
              HasSubstr("no structure is left but isolated atoms: 3 were read, 2 of them left out"));
}

TEST(StructureStreamTest, TheFirstErrorCounts) {
  const std::string path = WriteStructures("fails.xyz", 30);
  ASSERT_TRUE(WriteFileAtomically(Temp("broken.xyz"), "3\n\nO 0 0 0\n").ok());
  for (const int threads : {1, 3}) {
    StructureStreamOptions options;
    options.num_threads = threads;
    Recorder recorder;
    recorder.fail_at = path + "#17";
    const absl::Status status = StreamStructures({path, Temp("broken.xyz")}, options, 4, &recorder).status();
    EXPECT_EQ(status.message(), path + "#17");
    EXPECT_LE(recorder.seen.size(), 17u);
    recorder.fail_at = "";
    EXPECT_THAT(StreamStructures({path, Temp("broken.xyz")}, options, 4, &recorder).status().message(),
                HasSubstr("broken.xyz"));
  }
}

}  // namespace
}  // namespace rutile
