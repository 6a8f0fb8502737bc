#include "lib/structure/label_keys.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(LabelKeysTest, AreSomeEntriesOfMetadata) {
  EXPECT_THAT(LabelKeysOf({{"command", "train"}, {"config_key", "c"}}), IsEmpty());
  EXPECT_THAT(LabelKeysOf({{"command", "train"}, {"xsf_forces", "eV"}, {"energy_key", "E"}}),
              ElementsAre(Pair("energy_key", "E"), Pair("xsf_forces", "eV")));
}

}  // namespace
}  // namespace rutile
