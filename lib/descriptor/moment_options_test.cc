#include "lib/descriptor/moment_options.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

MomentOptions TitaniumOxide() {
  MomentOptions options;
  options.species = {22, 8};
  return options;
}

TEST(MomentOptionsTest, CountsFeatures) {
  MomentOptions options = TitaniumOxide();
  EXPECT_EQ(options.num_features(), 2 * 8 * 16);
  options.max_l = 0;
  options.num_radial = 5;
  EXPECT_EQ(options.num_features(), 10);
  options.species = {1, 6, 8};
  options.max_l = 4;
  EXPECT_EQ(options.num_features(), 3 * 5 * 25);
}

TEST(MomentOptionsTest, RefusesBadValuesByFlag) {
  using Change = std::function<void(MomentOptions&)>;
  const std::vector<std::pair<Change, std::vector<std::string>>> cases = {
      {[](MomentOptions& o) { o.species.clear(); }, {"--species", "empty"}},
      {[](MomentOptions& o) { o.species.push_back(22); }, {"--species", "Ti"}},
      {[](MomentOptions& o) { o.species[1] = 0; }, {"--species", "atomic number 0"}},
      {[](MomentOptions& o) { o.species[1] = 119; }, {"--species", "119"}},
      {[](MomentOptions& o) { o.cutoff = 0; }, {"--cutoff=0"}},
      {[](MomentOptions& o) { o.cutoff = 20.5; }, {"--cutoff=20.5", "20"}},
      {[](MomentOptions& o) { o.cutoff = std::nan(""); }, {"--cutoff=nan"}},
      {[](MomentOptions& o) { o.num_radial = 0; }, {"--radial_functions=0", "1 to 32"}},
      {[](MomentOptions& o) { o.num_radial = 33; }, {"--radial_functions=33"}},
      {[](MomentOptions& o) { o.max_l = -1; }, {"--max_l=-1", "0 to 4"}},
      {[](MomentOptions& o) { o.max_l = 5; }, {"--max_l=5"}},
      {[](MomentOptions& o) { o.basis = static_cast<RadialBasis>(2); }, {"--radial_basis", "bessel", "chebyshev"}},
      {[](MomentOptions& o) { o.envelope = 0; }, {"--envelope=0", "1 to 16"}},
      {[](MomentOptions& o) { o.envelope = 17; }, {"--envelope=17"}},
      {[](MomentOptions& o) { o.min_cutoff = -0.1; }, {"--min_cutoff=-0.1"}},
      {[](MomentOptions& o) { o.min_cutoff = 5; }, {"--min_cutoff=5", "--cutoff=5"}},
      {[](MomentOptions& o) { o.min_cutoff = std::nan(""); }, {"--min_cutoff=nan"}},
  };
  for (const auto& [change, facts] : cases) {
    MomentOptions options = TitaniumOxide();
    change(options);
    EXPECT_THAT(options.Validate(), ErrorNames(absl::StatusCode::kInvalidArgument, facts)) << facts[0];
  }
  EXPECT_TRUE(TitaniumOxide().Validate().ok());
}

TEST(MomentOptionsTest, JsonIsOneCanonicalLine) {
  EXPECT_EQ(TitaniumOxide().ToJson(), R"({"type":"moments","species":["Ti","O"],"cutoff":5.0,"radial_functions":8,)"
                                      R"("max_l":3,"radial_basis":"bessel","envelope":5,"min_cutoff":0.55})");
  MomentOptions options = TitaniumOxide();
  options.min_cutoff = -0.0;
  EXPECT_THAT(options.ToJson(), ::testing::HasSubstr("\"min_cutoff\":0.0"));
}

TEST(MomentOptionsTest, JsonRoundTrips) {
  MomentOptions options;
  options.species = {1, 6, 8};
  options.cutoff = 4.1;
  options.num_radial = 12;
  options.max_l = 4;
  options.basis = RadialBasis::kChebyshev;
  options.envelope = 6;
  options.min_cutoff = 0.1;
  const absl::StatusOr<MomentOptions> read = MomentOptions::FromJson(options.ToJson());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, options);
  EXPECT_NE(*read, TitaniumOxide());
}

TEST(MomentOptionsTest, EachMemberCounts) {
  const std::function<void(MomentOptions&)> changes[] = {
      [](MomentOptions& o) {
        o.species = {8, 22};
      },
      [](MomentOptions& o) { o.cutoff = 4; },
      [](MomentOptions& o) { o.num_radial = 7; },
      [](MomentOptions& o) { o.max_l = 2; },
      [](MomentOptions& o) { o.basis = RadialBasis::kChebyshev; },
      [](MomentOptions& o) { o.envelope = 6; },
      [](MomentOptions& o) { o.min_cutoff = 0.5; },
  };
  for (const auto& change : changes) {
    MomentOptions options = TitaniumOxide();
    change(options);
    EXPECT_NE(options, TitaniumOxide());
    EXPECT_NE(options.ToJson(), TitaniumOxide().ToJson());
  }
}

TEST(MomentOptionsTest, RefusesBadJson) {
  const std::string good = TitaniumOxide().ToJson();
  EXPECT_TRUE(MomentOptions::FromJson(good).ok());
  const auto with = [&](const std::string& old_text, const std::string& new_text) {
    std::string text = good;
    const size_t at = text.find(old_text);
    EXPECT_NE(at, std::string::npos) << old_text;
    return text.replace(at, old_text.size(), new_text);
  };
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"", {"descriptor", "JSON object"}},
      {"[]", {"JSON object"}},
      {with("\"max_l\":3,", ""), {"max_l", "missing"}},
      {with("\"max_l\":3,", "\"max_l\":3,\"parity\":1,"), {"parity", "newer"}},
      {with("moments", "chebyshev"), {"chebyshev", "moments"}},
      {with("[\"Ti\",\"O\"]", "\"Ti\""), {"species", "list"}},
      {with("\"Ti\"", "\"Tx\""), {"Tx"}},
      {with("\"Ti\"", "22"), {"22"}},
      {with("\"cutoff\":5.0", "\"cutoff\":\"5\""), {"cutoff", "number"}},
      {with("\"cutoff\":5.0", "\"cutoff\":50"), {"--cutoff=50"}},
      {with("\"radial_functions\":8", "\"radial_functions\":8.5"), {"radial_functions", "integer"}},
      {with("\"radial_functions\":8", "\"radial_functions\":4294967304"), {"--radial_functions"}},
      {with("\"bessel\"", "\"fourier\""), {"radial_basis", "fourier", "bessel, chebyshev"}},
      {with("\"bessel\"", "1"), {"radial_basis", "name"}},
      {with("\"envelope\":5", "\"envelope\":0"), {"--envelope=0"}},
  };
  for (const auto& [text, facts] : cases) {
    EXPECT_THAT(MomentOptions::FromJson(text).status(), ErrorNames(absl::StatusCode::kInvalidArgument, facts)) << text;
  }
}

}  // namespace
}  // namespace rutile
