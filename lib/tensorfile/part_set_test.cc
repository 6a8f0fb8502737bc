#include "lib/tensorfile/part_set.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

TensorFile Part(const std::string& path, const std::string& shard, const std::string& selection = "") {
  TensorFile file;
  file.path = path;
  file.metadata["inputs"] = "{\"data\":\"aa\",\"model\":\"bb\"}";
  if (!shard.empty()) file.metadata["shard"] = shard;
  if (!selection.empty()) file.metadata["selection"] = selection;
  return file;
}

std::string ErrorOf(const std::vector<TensorFile>& files) {
  const absl::StatusOr<std::vector<size_t>> order = OrderParts(files, {"selection"});
  EXPECT_EQ(order.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(order.status().message());
}

TEST(PartSetTest, OrdersByNumber) {
  const auto order = OrderParts({Part("b", "2/3"), Part("c", "3/3"), Part("a", PartText(1, 3))}, {"selection"});
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_THAT(*order, ElementsAre(2, 0, 1));
  // A whole result is one part, and the place of its inputs does not matter.
  EXPECT_THAT(OrderParts({Part("a", "")}, {}).value(), ElementsAre(0));
  TensorFile moved = Part("b", "2/2");
  moved.metadata["inputs"] = "{\"/elsewhere/model\":\"bb\",\"x\":\"aa\"}";
  EXPECT_THAT(OrderParts({Part("a", "1/2"), moved}, {}).value(), ElementsAre(0, 1));
}

TEST(PartSetTest, SaysWhatDoesNotFit) {
  EXPECT_EQ(ErrorOf({}), "there are no parts");
  EXPECT_EQ(ErrorOf({Part("a", "1/2")}), "shard 2/2 of a is missing: name all parts");
  EXPECT_EQ(ErrorOf({Part("c", "3/4")}), "shard 1/4 of c and 2 more are missing: name all parts");
  EXPECT_EQ(ErrorOf({Part("a", "1/2"), Part("b", "1/2")}), "b: is shard 1/2, and so is a");
  EXPECT_THAT(ErrorOf({Part("a", "1/2"), Part("b", "2/3")}), ErrorNames({"b:", "2/3", "a is 1/2"}));
  EXPECT_THAT(ErrorOf({Part("a", "1/2"), Part("b", "")}), ErrorNames({"b:", "whole result"}));
  EXPECT_THAT(ErrorOf({Part("a", ""), Part("b", "")}), ErrorNames({"a:", "whole result"}));
  EXPECT_THAT(ErrorOf({Part("a", "1/2", "x"), Part("b", "2/2", "y")}),
              ErrorNames({"b:", "selection \"y\"", "a has \"x\""}));
  for (const char* text : {"0/2", "3/2", "1", "1/2/3", "a/b", "-1/2", "1/2000000000"}) {
    EXPECT_THAT(ErrorOf({Part("a", text)}), ErrorNames({"a:", text, "i/n"})) << text;
  }
  TensorFile other = Part("b", "2/2");
  other.metadata["inputs"] = "{\"data\":\"aa\",\"model\":\"cc\"}";
  EXPECT_THAT(ErrorOf({Part("a", "1/2"), other}), ErrorNames({"b:", "model", "data", "than a"}));
}

TEST(PartSetTest, KnowsWhatItWasMadeFrom) {
  const std::string path = ::testing::TempDir() + "/model";
  ASSERT_TRUE(WriteFileAtomically(path, "weights").ok());
  TensorFile file = Part("a", "");
  EXPECT_THAT(CheckMadeFrom(file, "model", path), ErrorNames({"a:", "not", "model", path}));
  file.metadata["inputs"] = absl::StrCat("{\"x\":\"", Sha256Hex("weights"), "\",\"y\":\"00\"}");
  EXPECT_EQ(CheckMadeFrom(file, "model", path), absl::OkStatus());
  EXPECT_FALSE(CheckMadeFrom(file, "model", path + ".none").ok());
  file.metadata["inputs"] = "no JSON";
  EXPECT_FALSE(CheckMadeFrom(file, "model", path).ok());
}

}  // namespace
}  // namespace rutile
