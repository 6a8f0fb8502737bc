#include "lib/potential/model/zbl_options.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

DescriptorOptions Descriptor(double cutoff = 4) {
  ChebyshevOptions options;
  options.species = {6, 1};
  options.rad_cutoff = cutoff;
  options.ang_cutoff = 1;
  return options;
}

TEST(ZblOptionsTest, TextComesBack) {
  for (const char* text : {"", "auto", "0.7,1.4", "1e-05,2.25"}) {
    const auto options = ParseZbl(text);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(ZblText(*options), text);
    EXPECT_EQ(options->is_on(), !std::string(text).empty());
  }
}

TEST(ZblOptionsTest, RefusesOtherText) {
  for (const char* text : {"yes", "1", "1,1", "2,1", "0,1", "-1,1", "0.7,1.4,2", "0.7;1.4", "nan,1", ","}) {
    EXPECT_THAT(ParseZbl(text).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {text, "auto", "0.7,1.4"}));
  }
}

TEST(ZblOptionsTest, RadiiOfSpecies) {
  EXPECT_TRUE(RadiiOf(ZblOptions(), Descriptor())->empty());
  const auto same = RadiiOf(*ParseZbl("0.7,1.4"), Descriptor());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(same->inner, ElementsAre(0.7, 0.7, 0.7, 0.7));
  EXPECT_THAT(same->outer, ElementsAre(1.4, 1.4, 1.4, 1.4));
  const auto radii = RadiiOf(*ParseZbl("auto"), Descriptor());
  ASSERT_TRUE(radii.ok()) << radii.status();
  // 0.8 of sums of 0.76 and 0.31
  EXPECT_THAT(radii->outer, ElementsAre(DoubleEq(1.216), DoubleEq(0.856), DoubleEq(0.856), DoubleEq(0.496)));
  EXPECT_THAT(radii->inner, ElementsAre(DoubleEq(0.608), DoubleEq(0.428), DoubleEq(0.428), DoubleEq(0.248)));
}

TEST(ZblOptionsTest, NeighborsMustBeKnown) {
  EXPECT_THAT(RadiiOf(*ParseZbl("0.7,4.5"), Descriptor()).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--zbl=0.7,4.5", "cutoff of 4"}));
  EXPECT_THAT(RadiiOf(*ParseZbl("auto"), Descriptor(1.2)).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--zbl=auto", "C-C", "1.216", "cutoff of 1.2"}));
}

TEST(ZblOptionsTest, OptionsOfRadii) {
  for (const char* text : {"", "auto", "0.7,1.4"}) {
    const auto options = ZblOfRadii(*RadiiOf(*ParseZbl(text), Descriptor()), Descriptor());
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(ZblText(*options), text);
  }
  DescriptorOptions silicon = Descriptor();
  silicon.set_species({14});
  EXPECT_EQ(ZblText(*ZblOfRadii(*RadiiOf(*ParseZbl("auto"), silicon), silicon)), "auto");
  EXPECT_THAT(ZblOfRadii({{1, 1, 1, 1}, {2, 2, 2, 3}}, Descriptor()).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--zbl", "H-H 1 to 3"}));
}

}  // namespace
}  // namespace rutile
