#include "lib/machine/read_ahead.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

struct Chunk {
  int number = -1;
  bool last = false;
};

// Processes `count` chunks; those with the given numbers fail.
struct Passes {
  Passes(bool ahead, int count, int bad_read = -1, int bad_compute = -1) {
    int next = 0;
    status = ForEachChunk<Chunk>(
        ahead,
        [&](Chunk* chunk) {
          *chunk = {next, next + 1 == count};
          return next++ == bad_read ? absl::InvalidArgumentError("read") : absl::OkStatus();
        },
        [&](Chunk* chunk) {
          computed.push_back(chunk->number);
          return chunk->number == bad_compute ? absl::InvalidArgumentError("compute") : absl::OkStatus();
        },
        [&](Chunk* chunk) {
          done.push_back(chunk->number);
          return absl::OkStatus();
        });
  }
  absl::Status status;
  std::vector<int> computed, done;
};

class ForEachChunkTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ahead, ForEachChunkTest, ::testing::Bool());

TEST_P(ForEachChunkTest, EachOnceInOrder) {
  EXPECT_EQ(Passes(GetParam(), 1).done, std::vector<int>({0}));
  const Passes run(GetParam(), 5);
  EXPECT_TRUE(run.status.ok());
  EXPECT_EQ(run.computed, std::vector<int>({0, 1, 2, 3, 4}));
  EXPECT_EQ(run.done, run.computed);
}

TEST_P(ForEachChunkTest, TheFirstErrorEndsIt) {
  EXPECT_EQ(Passes(GetParam(), 5, 0).status.message(), "read");
  const Passes read(GetParam(), 5, 2);
  EXPECT_EQ(read.status.message(), "read");
  EXPECT_EQ(read.computed, std::vector<int>({0, 1}));
  const Passes both(GetParam(), 5, 3, 2);
  EXPECT_EQ(both.status.message(), "compute");
  EXPECT_EQ(both.done, std::vector<int>({0, 1}));
}

}  // namespace
}  // namespace rutile
