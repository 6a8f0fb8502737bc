#include "lib/graph/name_lines.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(NameLinesTest, AreReadBack) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, {"a"}, {"", "b c", "\xc3\xa9\t"}, {"", ""}}) {
    TensorFile file;
    file.tensors.Set("names", NamesToTensor(names));
    EXPECT_EQ(*NamesFromTensor(file, "names"), names);
  }
}

TEST(NameLinesTest, TheLastLineEnds) {
  TensorFile file;
  file.path = "x.safetensors";
  file.tensors.Set("names", Tensor::Of<uint8_t>({'a', '\n', 'b'}));
  EXPECT_THAT(std::string(NamesFromTensor(file, "names").status().message()),
              ::testing::AllOf(::testing::HasSubstr("x.safetensors"), ::testing::HasSubstr("\"names\"")));
}

}  // namespace
}  // namespace rutile
