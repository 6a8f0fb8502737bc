#include "tools/common/flags/distinct_inputs.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

std::string Write(const std::string& name) {
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
  std::ofstream(path) << name;
  return path;
}

TEST(DistinctInputsTest, Files) {
  const std::string a = Write("a"), b = Write("b");
  const std::string link = absl::StrCat(std::getenv("TEST_TMPDIR"), "/link"), hard = absl::StrCat(link, ".hard");
  ASSERT_EQ(::symlink(a.c_str(), link.c_str()), 0);
  ASSERT_EQ(::link(b.c_str(), hard.c_str()), 0);
  const auto message = [](const std::vector<std::string>& inputs) {
    return std::string(CheckDistinctFiles(inputs).message());
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({a, b}), "");
  EXPECT_EQ(message({"-", "none", "none", "/dev/null", "/dev/null"}), "") << "no file of examples";
  const std::string why = ": what is trained on would also be validated; give it once";
  EXPECT_EQ(message({a, b, a}), absl::StrCat(a, " is given twice", why));
  EXPECT_EQ(message({a, b, link}), absl::StrCat(a, " and ", link, " are one file", why));
  EXPECT_EQ(message({hard, a, b}), absl::StrCat(hard, " and ", b, " are one file", why));
}

TEST(DistinctInputsTest, Contents) {
  const Metadata metadata = {{"inputs", R"({"a": "12", "b": "34", "c": "12", "d": ""})"}};
  const auto message = [&](const std::vector<std::string>& inputs) { return SameContents(metadata, inputs); };
  EXPECT_EQ(message({"a", "b", "d", "d", "-", "-"}), "");
  EXPECT_EQ(message({"a", "b", "c"}),
            "a and c have the same content: what is trained on would also be validated; leave one of them out");
  EXPECT_EQ(
      message({"a", "b", "c", "b"}),
      "a and c have the same content, and 1 more files that of another: what is trained on would also be validated; "
      "leave one of them out");
  EXPECT_EQ(SameContents({}, {"a", "a"}), "");
}

}  // namespace
}  // namespace rutile
