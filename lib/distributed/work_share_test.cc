#include "lib/distributed/work_share.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A task in which example i costs i.
class CostlyToy : public ToyTask {
 public:
  CostlyToy() : ToyTask(ToyTaskOptions()) {}
  double ExampleCost(int64_t example) const override { return static_cast<double>(example); }
};

TEST(WorkShareTest, LikeCostsAreDealtInTurn) {
  const ToyTask task({});
  EXPECT_THAT(WorkShare(task, {7, 3, 5, 1, 9}, 0, 2), ElementsAre(7, 5, 9));
  EXPECT_THAT(WorkShare(task, {7, 3, 5, 1, 9}, 1, 2), ElementsAre(3, 1));
}

TEST(WorkShareTest, TheDearestIsAlone) {
  const CostlyToy task;
  EXPECT_THAT(WorkShare(task, {1, 30, 2, 3}, 0, 2), ElementsAre(30));
  EXPECT_THAT(WorkShare(task, {1, 30, 2, 3}, 1, 2), ElementsAre(1, 2, 3));
}

TEST(WorkShareTest, EachExampleOnceWhateverTheNumber) {
  const CostlyToy task;
  const std::vector<int64_t> batch = {4, 4, 9, 1, 17, 3, 3, 12};  // one may be drawn twice
  for (const int size : {1, 2, 3, 5, 11}) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<int64_t> share = WorkShare(task, batch, rank, size);
      all.insert(all.end(), share.begin(), share.end());
    }
    EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(batch)) << size;
  }
  EXPECT_THAT(WorkShare(task, {5}, 1, 2), IsEmpty());
}

}  // namespace
}  // namespace rutile
