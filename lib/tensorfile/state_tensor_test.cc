#include "lib/tensorfile/state_tensor.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StateTensorTest, ChecksAndCopies) {
  NamedTensors state;
  state.Set("m", Tensor::Of<float>({1, 2, 3}, {3}));
  Tensor to = Tensor::Zeros(DType::kF32, {3});
  ASSERT_TRUE(CheckStateTensor(state, "m", to).ok());
  const void* memory = to.data();
  CopyStateTensor(state, "m", &to);
  EXPECT_THAT(to.values<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(to.data(), memory);
}

TEST(StateTensorTest, SaysWhatIsWrong) {
  NamedTensors state;
  state.Set("m", Tensor::Of<float>({1, 2, 3}, {3}));
  const auto message = [&](const char* name, const Tensor& like) {
    return std::string(CheckStateTensor(state, name, like).message());
  };
  EXPECT_THAT(message("v", Tensor::Zeros(DType::kF32, {3})), HasSubstr("no tensor \"v\""));
  EXPECT_THAT(message("m", Tensor::Zeros(DType::kF64, {3})), HasSubstr("\"m\" is F32 [3], expected F64 [3]"));
  EXPECT_THAT(message("m", Tensor::Zeros(DType::kF32, {2})), HasSubstr("expected F32 [2]"));
}

}  // namespace
}  // namespace rutile
