#include "tools/profile/group_rates.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

std::string Relative(const std::string& groups, const std::string& optimizer, double learning_rate) {
  const absl::StatusOr<std::string> relative = GroupsRelativeToRate(groups, optimizer, learning_rate);
  return relative.ok() ? *relative : std::string(relative.status().message());
}

TEST(GroupRatesTest, RatesBecomeMultiplesOfTheRuns) {
  EXPECT_EQ(Relative("network.Ti.*:learning_rate=0.005", "adam", 0.01), "network.Ti.*:lr_scale=0.5");
  EXPECT_EQ(Relative("a:weight_decay=0.1,learning_rate=4;b:learning_rate=1,momentum=0", "sgd", 2),
            "a:weight_decay=0.1,lr_scale=2;b:lr_scale=0.5,momentum=0");
}

TEST(GroupRatesTest, AnotherOptimizerHasItsDefaultRate) {
  EXPECT_EQ(Relative("a:optimizer=sgd", "adam", 0.0025), "a:optimizer=sgd,lr_scale=4");
  EXPECT_EQ(Relative("a:optimizer=sgd,learning_rate=0.005", "adam", 0.01), "a:optimizer=sgd,lr_scale=0.5");
}

TEST(GroupRatesTest, WhatFollowsTheRunStays) {
  for (const std::string groups :
       {"a", "a:weight_decay=0", "a:lr_scale=0.1;b", "a:optimizer=adam,beta1=0.8", "a:optimizer=sgd,lr_scale=3", ""}) {
    EXPECT_EQ(Relative(groups, "adam", 0.01), groups);
  }
}

TEST(GroupRatesTest, ErrorsQuoteTheGroup) {
  EXPECT_THAT(GroupsRelativeToRate("b;a:learning_rate=0", "adam", 1).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"a:learning_rate=0", "above 0"}));
  EXPECT_THAT(GroupsRelativeToRate("a:optimizer=foo", "adam", 1).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"a:optimizer=foo", "adam"}));
}

}  // namespace
}  // namespace rutile
