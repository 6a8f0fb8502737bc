#include "tools/common/run/flag_domain.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

DEFINE_int64(hidden, 20, "A flag of potentials.");
DEFINE_string(activation, "tanh", "Another.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

TEST(FlagDomainTest, RefusesWhatWasGivenAlone) {
  ASSERT_TRUE(for_potentials);
  EXPECT_EQ(RefuseFlagsFor(FlagDomain::kPotentials, "on triples"), absl::OkStatus());
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("hidden", "5");
  const absl::Status status = RefuseFlagsFor(FlagDomain::kPotentials, "on triples");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "--hidden has no effect on triples: leave it out");
}

TEST(FlagDomainTest, RefusesNothingOfAnotherDomain) {
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("activation", "relu");
  EXPECT_EQ(RefuseFlagsFor(FlagDomain::kEmbeddings, "on structures"), absl::OkStatus());
  EXPECT_FALSE(RefuseFlagsFor(FlagDomain::kPotentials, "on triples").ok());
}

TEST(FlagDomainTest, FlagsOfOtherSourcesAreOfNoDomain) {
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("flagfile", "");
  gflags::SetCommandLineOption("undefok", "x");  // one of gflags' own
  EXPECT_EQ(RefuseFlagsFor(FlagDomain::kPotentials, "on triples"), absl::OkStatus());
}

TEST(FlagDomainTest, RefusesTheFlagsOfOneSource) {
  EXPECT_THAT(FlagsOfSource(__FILE__), ::testing::ElementsAre("activation", "hidden"));
  EXPECT_THAT(FlagsOfSource("no/such/source.cc"), ::testing::IsEmpty());
  EXPECT_EQ(RefuseFlagsOfSource(__FILE__, "on features"), absl::OkStatus());
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("hidden", "5");
  EXPECT_THAT(RefuseFlagsOfSource(__FILE__, "on features"),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--hidden", "on features"}));
  EXPECT_EQ(RefuseFlagsOfSource("no/such/source.cc", "on features"), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
