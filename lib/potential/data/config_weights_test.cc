#include "lib/potential/data/config_weights.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ConfigWeightsTest, ReadsPairs) {
  EXPECT_THAT(ParseConfigWeights("").value(), IsEmpty());
  EXPECT_THAT(ParseConfigWeights("bulk=1,surface*=0.5,a=b=0").value(),
              ElementsAre(Pair("bulk", 1), Pair("surface*", 0.5), Pair("a=b", 0)));
}

TEST(ConfigWeightsTest, QuotesWhatIsNoWeight) {
  for (const char* text : {"bulk", "bulk=", "bulk=-1", "bulk=nan", "bulk=inf", "bulk=x"}) {
    EXPECT_THAT(ParseConfigWeights(text).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {text})) << text;
  }
}

}  // namespace
}  // namespace rutile
