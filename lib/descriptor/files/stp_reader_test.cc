#include "lib/descriptor/files/stp_reader.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGood[] =
    "ATOM Ti\n"
    "ENV 2\n"
    "Ti\n"
    "O\n"
    "RMIN 0.55d0\n"
    "BASIS type=Chebyshev\n"
    "radial_Rc = 6.5 radial_N = 20 angular_Rc = 5. angular_N = 6\n";

std::string File(const char* name) { return absl::StrCat("testdata/descriptor/", name); }

TEST(StpReaderTest, ReadsOneFileForEachSpecies) {
  const absl::StatusOr<ChebyshevOptions> options =
      ReadStpFiles({File("Ti.fingerprint.stp"), File("O.fingerprint.stp")});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->species, ElementsAre(22, 8));
  EXPECT_EQ(options->rad_cutoff, 6.5);
  EXPECT_EQ(options->rad_order, 20);
  EXPECT_EQ(options->ang_cutoff, 5);
  EXPECT_EQ(options->ang_order, 6);
  EXPECT_EQ(options->min_cutoff, 0.55);
  // The order of species is that of ENV, not of the files.
  EXPECT_EQ(*ReadStpFiles({File("O.fingerprint.stp"), File("Ti.fingerprint.stp")}), *options);
}

TEST(StpReaderTest, ParsesOneText) {
  const absl::StatusOr<StpSetup> setup = ParseStp(kGood, "Ti.stp");
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->atom, 22);
  const std::string windows = absl::StrReplaceAll(kGood, {{"\n", "\r\n"}});
  const absl::StatusOr<StpSetup> same = ParseStp(windows.substr(0, windows.size() - 2), "Ti.stp");
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->options, setup->options);
}

TEST(StpReaderTest, FilesThatDisagree) {
  const auto error = [](const std::vector<std::string>& paths) {
    return std::string(ReadStpFiles(paths).status().message());
  };
  const std::string ti = File("Ti.fingerprint.stp");
  EXPECT_THAT(error({ti, File("O-other-order.stp")}), HasSubstr("differ: ENV is Ti O and O Ti; rutile has one"));
  EXPECT_THAT(error({ti, File("O-other-cutoff.stp")}), HasSubstr("differ: radial_Rc is 6.5 and 6; rutile has one"));
  EXPECT_THAT(error({ti, ti}), HasSubstr("ATOM Ti has its setup in testdata/descriptor/Ti.fingerprint.stp already"));
  EXPECT_THAT(error({ti}), HasSubstr("ENV has O, but no file has ATOM O; give one for each species"));
  EXPECT_THAT(error({File("behler.stp")}), HasSubstr("behler.stp:6: FUNCTIONS: expected BASIS type=Chebyshev"));
  EXPECT_THAT(error({File("none.stp")}), StartsWith("testdata/descriptor/none.stp"));
  EXPECT_THAT(error({"testdata/descriptor"}), StartsWith("testdata/descriptor"));
  EXPECT_THAT(error({}), HasSubstr("no .stp file"));
}

struct Bad {
  const char *from, *to, *message;
};

TEST(StpReaderTest, ErrorsNameTheLine) {
  const Bad cases[] = {
      {"ATOM Ti", "ATOM Xx", "Ti.stp:1: \"Xx\" is no element"},
      {"ATOM Ti", "ATOM", "Ti.stp:1: expected ATOM and one symbol"},
      {"ATOM Ti", "ATOM Ti\nATOM O", "Ti.stp:2: ATOM again"},
      {"ATOM Ti", "ATOM Cu", "Ti.stp: ATOM Cu is not in ENV"},
      {"ATOM Ti\n", "", "Ti.stp: no ATOM in the file"},
      {"ATOM Ti", "DESCR\nATOM Ti", "Ti.stp:1: DESCR has no END DESCR"},
      {"ATOM Ti", "ELEMENT Ti", "Ti.stp:1: unknown keyword \"ELEMENT\""},
      {"ENV 2", "ENV two", "Ti.stp:2: expected ENV and the number of species"},
      {"ENV 2", "ENV 0", "Ti.stp:2: expected ENV and the number of species"},
      {"ENV 2", "ENV 999999999999", "Ti.stp:2: expected ENV and the number of species"},
      {"ENV 2", "ENV 3", "Ti.stp:5: expected one species in each line of ENV"},
      {"ENV 2\nTi\nO\n", "", "Ti.stp: no ENV in the file"},
      {"\nO\n", "\nTi\n", "Ti.stp: ENV names Ti twice"},
      {"RMIN 0.55d0", "RMIN", "Ti.stp:5: expected RMIN and a distance"},
      {"RMIN 0.55d0", "RMIN nan", "Ti.stp:5: expected RMIN and a distance"},
      {"RMIN 0.55d0", "RMIN 7", "Ti.stp: RMIN=7: expected 0 or more and below angular_Rc=5"},
      {"RMIN 0.55d0\n", "", "Ti.stp: no RMIN in the file"},
      {"type=Chebyshev", "type=Legendre", "Ti.stp:6: BASIS type=Legendre: expected Chebyshev"},
      {"type=Chebyshev", "Chebyshev", "Ti.stp:6: expected BASIS type=Chebyshev"},
      {"radial_Rc = 6.5", "radial_Rc = 4.5", "Ti.stp:7: angular_Rc = 5 is above radial_Rc = 4.5"},
      {"radial_Rc = 6.5", "radial_Rc = x", "Ti.stp:7: expected radial_Rc = a number"},
      {"radial_Rc = 6.5", "radial_Rc 6.5", "Ti.stp:7: expected radial_Rc = a number"},
      {"radial_Rc = 6.5", "radial_Rc = 65", "Ti.stp: radial_Rc=65: expected a distance above 0 and up to 20"},
      {"radial_N = 20", "radial_N = 2.5", "Ti.stp:7: radial_N = 2.5: expected a whole number"},
      {"radial_N = 20", "radial_N = 1e300", "Ti.stp:7: radial_N = 1e300: expected a whole number"},
      {"radial_N = 20", "radial_N = 200", "Ti.stp: radial_N=200: expected 0 to 32"},
      {"radial_N = 20", "angular_N = 20", "Ti.stp:7: angular_N again"},
      {"radial_N = 20", "", "Ti.stp:7: the Chebyshev basis has no radial_N"},
      {"angular_N", "angular_M", "Ti.stp:7: unknown parameter \"angular_M\""},
  };
  for (const Bad& bad : cases) {
    const std::string text = absl::StrReplaceAll(kGood, {{bad.from, bad.to}});
    ASSERT_NE(text, kGood) << bad.from;
    const absl::Status status = ParseStp(text, "Ti.stp").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith(bad.message)) << bad.to;
  }
  EXPECT_THAT(std::string(ParseStp("", "Ti.stp").status().message()), StartsWith("Ti.stp: no ATOM"));
}

// A file that is cut off anywhere is an error or, if only trailing blanks are missing, the same setup; never a crash.
TEST(StpReaderTest, CutOffAnywhere) {
  const std::string text = kGood;
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(ParseStp(text.substr(0, size), "Ti.stp").ok()) << size;
  }
}

}  // namespace
}  // namespace rutile
