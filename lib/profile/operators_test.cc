#include "lib/profile/operators.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace rutile {
namespace {

int64_t CallsOf(const std::vector<ProfileOperator>& operators, const std::string& name) {
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const auto& op) { return op.name == name; });
  return found == operators.end() ? 0 : found->calls;
}

TEST(OperatorsTest, CountsAndTimes) {
  const at::Tensor a = at::ones({200, 200});
  StartOperators();
  for (int i = 0; i < 3; ++i) at::mm(a, a);
  std::thread([&] { at::mm(a, a); }).join();
  const std::vector<ProfileOperator> operators = StopOperators(100);
  EXPECT_EQ(CallsOf(operators, "aten::mm"), 4);
  for (const ProfileOperator& op : operators) EXPECT_GE(op.self_s, 0) << op.name;
  EXPECT_TRUE(std::is_sorted(operators.begin(), operators.end(),
                             [](const auto& x, const auto& y) { return x.self_s > y.self_s; }));
}

TEST(OperatorsTest, StopsAndForgets) {
  StartOperators();
  at::ones({2});
  EXPECT_EQ(StopOperators(1).size(), 1);
  at::ones({2});
  EXPECT_TRUE(StopOperators(10).empty());
}

}  // namespace
}  // namespace rutile
