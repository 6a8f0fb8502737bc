#include "lib/descriptor/chebyshev_options.h"

#include <cmath>
#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChebyshevOptions TitaniumOxide() {
  ChebyshevOptions options;
  options.species = {22, 8};
  return options;
}

TEST(ChebyshevOptionsTest, CountsFeatures) {
  ChebyshevOptions options = TitaniumOxide();
  options.rad_order = 16;
  options.ang_order = 4;
  EXPECT_EQ(options.num_features(), 44);
  options.species = {22};
  EXPECT_EQ(options.num_features(), 22);
  options.nearer = {{6, 3.5}, {0, 2}};
  EXPECT_EQ(options.num_features(), 30);
  options.species = {22, 8};
  EXPECT_EQ(options.num_features(), 60);
}

TEST(ChebyshevOptionsTest, NearerSetsAreDescriptorsOfTheirOwn) {
  ChebyshevOptions options = TitaniumOxide();
  options.nearer = {{6, 3.5}, {2, 2.5}};
  EXPECT_EQ(options.cutoff(), 6);
  EXPECT_EQ(options.Outermost(), TitaniumOxide());
  const ChebyshevOptions second = options.Nearer(1);
  EXPECT_EQ(second.num_features(), 8);  // one radial and three angular features, with two weights
  EXPECT_EQ(second.cutoff(), 2.5);
  EXPECT_EQ(second.species, options.species);
  EXPECT_EQ(options.AngularOrders(), "3,6,2");
  EXPECT_EQ(options.AngularCutoffs(), "4,3.5,2.5");
}

TEST(ChebyshevOptionsTest, TypeSpinsAreSymmetric) {
  ChebyshevOptions options;
  options.species = {1};
  EXPECT_THAT(options.TypeSpins(), ElementsAre(1));
  options.species = {1, 2};
  EXPECT_THAT(options.TypeSpins(), ElementsAre(-1, 1));
  options.species = {1, 2, 3};
  EXPECT_THAT(options.TypeSpins(), ElementsAre(-1, 0, 1));
  options.species = {1, 2, 3, 4};
  EXPECT_THAT(options.TypeSpins(), ElementsAre(-2, -1, 1, 2));
  options.species = {1, 2, 3, 4, 5};
  EXPECT_THAT(options.TypeSpins(), ElementsAre(-2, -1, 0, 1, 2));
}

TEST(ChebyshevOptionsTest, RefusesBadValuesByFlag) {
  struct Case {
    std::function<void(ChebyshevOptions&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](ChebyshevOptions& o) { o.species.clear(); }, "--species is empty"},
      {[](ChebyshevOptions& o) {
         o.species = {22, 8, 22};
       },
       "--species names Ti twice"},
      {[](ChebyshevOptions& o) { o.species = {0}; }, "--species: atomic number 0"},
      {[](ChebyshevOptions& o) { o.rad_order = -1; }, "--rad_order=-1: expected 0 to 32"},
      {[](ChebyshevOptions& o) { o.ang_order = 33; }, "--ang_order=33"},
      {[](ChebyshevOptions& o) { o.rad_cutoff = 0; }, "--rad_cutoff=0"},
      {[](ChebyshevOptions& o) { o.rad_cutoff = 1000; }, "--rad_cutoff=1000"},
      {[](ChebyshevOptions& o) { o.ang_cutoff = -1; }, "--ang_cutoff=-1"},
      {[](ChebyshevOptions& o) { o.ang_cutoff = std::nan(""); }, "--ang_cutoff=nan"},
      {[](ChebyshevOptions& o) { o.min_cutoff = 4; }, "--min_cutoff=4: expected 0 or more and below --ang_cutoff=4"},
      {[](ChebyshevOptions& o) { o.rad_cutoff = o.min_cutoff = 3; }, "below --rad_cutoff=3"},
      {[](ChebyshevOptions& o) { o.min_cutoff = -0.1; }, "--min_cutoff=-0.1"},
      {[](ChebyshevOptions& o) {
         o.nearer = {{3, 4}};
       },
       "--ang_cutoff=4,4: 4 after 4; expected the largest first"},
      {[](ChebyshevOptions& o) {
         o.nearer = {{3, 3}, {3, 3.5}};
       },
       "--ang_cutoff=4,3,3.5: 3.5 after 3"},
      {[](ChebyshevOptions& o) {
         o.nearer = {{40, 3}};
       },
       "--ang_order=40"},
      {[](ChebyshevOptions& o) {
         o.nearer = {{4, std::nan("")}};
       },
       "--ang_cutoff=nan"},
      {[](ChebyshevOptions& o) {
         o.nearer = {{4, 0.5}};
       },
       "--min_cutoff=0.55: expected 0 or more and below --ang_cutoff=0.5"},
      {[](ChebyshevOptions& o) { o.min_cutoff = std::nan(""); }, "--min_cutoff=nan"},
  };
  for (const Case& bad : cases) {
    ChebyshevOptions options = TitaniumOxide();
    bad.change(options);
    const absl::Status status = options.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
  EXPECT_TRUE(TitaniumOxide().Validate().ok());
}

TEST(ChebyshevOptionsTest, JsonIsOneCanonicalLine) {
  EXPECT_EQ(TitaniumOxide().ToJson(), R"({"type":"chebyshev","species":["Ti","O"],"rad_order":10,"rad_cutoff":6.0,)"
                                      R"("ang_order":3,"ang_cutoff":4.0,"min_cutoff":0.55})");
  ChebyshevOptions options = TitaniumOxide();
  options.min_cutoff = -0.0;
  EXPECT_THAT(options.ToJson(), HasSubstr("\"min_cutoff\":0.0"));
}

TEST(ChebyshevOptionsTest, JsonRoundTripsEveryDigit) {
  ChebyshevOptions options = TitaniumOxide();
  options.rad_cutoff = 20.0 / 3;
  options.ang_cutoff = 0.1 + 0.2;
  options.min_cutoff = std::numeric_limits<double>::denorm_min();
  options.ang_order = 0;
  const absl::StatusOr<ChebyshevOptions> read = ChebyshevOptions::FromJson(options.ToJson());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, options);
  options.species = {8, 22};
  EXPECT_NE(*read, options);
}

TEST(ChebyshevOptionsTest, JsonHasNearerSetsWhereThereAreAny) {
  ChebyshevOptions options = TitaniumOxide();
  options.nearer = {{6, 3.5}, {2, 2}};
  EXPECT_THAT(options.ToJson(), HasSubstr(R"("min_cutoff":0.55,"nearer":[{"ang_order":6,"ang_cutoff":3.5},)"
                                          R"({"ang_order":2,"ang_cutoff":2.0}]})"));
  const absl::StatusOr<ChebyshevOptions> read = ChebyshevOptions::FromJson(options.ToJson());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, options);
  EXPECT_NE(*read, options.Outermost());
}

TEST(ChebyshevOptionsTest, JsonErrorsSayWhat) {
  const std::string good = TitaniumOxide().ToJson();
  const auto error = [](const std::string& json) {
    return std::string(ChebyshevOptions::FromJson(json).status().message());
  };
  const auto replace = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(error(""), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("\"type\" is missing"));
  EXPECT_THAT(error(replace("chebyshev", "behler2011")), ErrorNames({"\"behler2011\"", "\"chebyshev\""}));
  EXPECT_THAT(error(replace("\"Ti\"", "\"Xx\"")), ErrorNames({"\"Xx\"", "species"}));
  EXPECT_THAT(error(replace("\"Ti\"", "22")), ErrorNames({"22", "species"}));
  EXPECT_THAT(error(replace("[\"Ti\",\"O\"]", "7")), ErrorNames({"\"species\"", "list"}));
  EXPECT_THAT(error(replace("\"rad_order\":10", "\"rad_order\":10.5")), ErrorNames({"\"rad_order\"", "integer"}));
  EXPECT_THAT(error(replace("\"rad_order\":10", "\"rad_order\":4294967306")), ErrorNames({"--rad_order=2147483647"}));
  EXPECT_THAT(error(replace("4.0", "\"4.0\"")), ErrorNames({"\"ang_cutoff\"", "number"}));
  EXPECT_THAT(error(replace("4.0", "400.0")), ErrorNames({"--ang_cutoff=400"}));
  EXPECT_THAT(error(replace("\"ang_cutoff\":4.0,", "")), ErrorNames({"\"ang_cutoff\""}));
  for (const char* sets : {"7", "[]", "[7]", "[{}]", R"([{"ang_order":3}])",
                           R"([{"ang_order":3,"ang_cutoff":3,"x":1}])", R"([{"ang_order":"3","ang_cutoff":3}])",
                           R"([{"ang_order":3,"ang_cutoff":null}])", R"([{"ang_order":3,"ang_cutoff":5}])"}) {
    EXPECT_THAT(error(replace("0.55", std::string("0.55,\"nearer\":") + sets)), HasSubstr("descriptor: ")) << sets;
  }
  EXPECT_THAT(error(replace("{", "{\"alpha\":1,")), HasSubstr("\"alpha\" is not known"));
}

TEST(AngularMethodTest, NamesGoBothWays) {
  for (const AngularMethod method : {AngularMethod::kMoments, AngularMethod::kTriplets}) {
    EXPECT_EQ(kAngularMethodNames.Parse(kAngularMethodNames.Name(method)).value(), method);
  }
  EXPECT_THAT(std::string(kAngularMethodNames.Parse("pairs").status().message()), HasSubstr("moments, triplets"));
}

}  // namespace
}  // namespace rutile
