#include "lib/distributed/processor_share.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> Shares(const std::vector<std::string>& places) {
  std::vector<int> shares;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const absl::StatusOr<int> share = ProcessorShare(places, rank);
    EXPECT_TRUE(share.ok()) << share.status();
    shares.push_back(share.value_or(-1));
  }
  return shares;
}

TEST(ProcessorShareTest, ProcessesThatMayUseAllDivideThem) {
  EXPECT_THAT(Shares({"a 4 0,1,2,3", "a 4 0,1,2,3"}), ElementsAre(2, 2));
  EXPECT_THAT(Shares({"a 3 0,1,2", "a 3 0,1,2", "a 3 0,1,2"}), ElementsAre(1, 1, 1));
  EXPECT_THAT(Shares({"a 2 0,1", "a 2 0,1", "a 2 0,1"}), ElementsAre(0, 0, 0));
}

TEST(ProcessorShareTest, BoundProcessesKeepTheirOwn) {
  EXPECT_THAT(Shares({"a 2 0,1", "a 3 2,3,4"}), ElementsAre(2, 3));
  EXPECT_THAT(Shares({"a 1 0", "a 1 1", "a 1 1"}), ElementsAre(1, 0, 0));
  EXPECT_THAT(Shares({"a 4 0,1,2,3", "a 2 2,3"}), ElementsAre(3, 1));
}

TEST(ProcessorShareTest, OtherMachinesHaveOthers) {
  EXPECT_THAT(Shares({"a 2 0,1", "b 2 0,1", "a 2 0,1", "c 8 0,1,2,3,4,5,6,7"}), ElementsAre(1, 2, 1, 8));
}

TEST(ProcessorShareTest, AQuotaIsDivided) {
  EXPECT_THAT(Shares({"a 2 0,1,2,3,4,5,6,7", "a 2 0,1,2,3,4,5,6,7"}), ElementsAre(1, 1));
  EXPECT_THAT(Shares({"a 6 0,1,2,3,4,5,6,7"}), ElementsAre(6));
}

TEST(ProcessorShareTest, OwnPlace) {
  EXPECT_THAT(Shares({OwnPlace()}), ElementsAre(AvailableProcessors()));
  EXPECT_THAT(Shares({OwnPlace(), absl::StrCat("not-", OwnPlace())})[0], AvailableProcessors());
}

TEST(ProcessorShareTest, RefusesWhatIsNoPlace) {
  for (const char* const text : {"", "a", "a 1", "a 0 1", "a 1 x", "a 1 ", "a 1 1 1"}) {
    EXPECT_THAT(std::string(ProcessorShare({"a 1 0", text}, 0).status().message()), HasSubstr("no process's place"))
        << text;
  }
}

}  // namespace
}  // namespace rutile
