#include "lib/influence/files/subsets_file.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

std::string Path(const std::string& name) { return std::string(std::getenv("TEST_TMPDIR")) + "/" + name; }

SubsetPlan Plan() {
  SubsetPlan plan;
  plan.examples = kTripleExamples;
  plan.lines = {"a\tr\tb", "b\tr\tc", "c\ts\ta"};
  plan.num_subsets = 2;
  plan.kept = {1, 0, 1, 0, 1, 1};
  plan.share = 0.6;
  plan.seed = 7;
  plan.stratify_by = "relation";
  return plan;
}

TEST(SubsetsFileTest, ReadsWhatWasWritten) {
  const std::string path = Path("plan.safetensors");
  ASSERT_TRUE(WriteSubsets(path, Plan(), {{"tool", "test"}}).ok());
  const absl::StatusOr<SubsetPlan> read = ReadSubsets(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->lines, Plan().lines);
  EXPECT_EQ(read->kept, Plan().kept);
  EXPECT_EQ(read->examples, kTripleExamples);
  EXPECT_EQ(read->share, 0.6);
  EXPECT_EQ(read->seed, 7);
  EXPECT_EQ(read->stratify_by, "relation");
  EXPECT_EQ(read->path, path);
  EXPECT_THAT(read->subset(1), ElementsAre(0, 1, 1));
  EXPECT_EQ(SubsetsSha256(*read), SubsetsSha256(Plan()));
  SubsetPlan other = Plan();
  other.kept[1] = 1;
  EXPECT_NE(SubsetsSha256(other), SubsetsSha256(Plan()));
  other = Plan();
  other.lines[0] = "a\tr\td";
  EXPECT_NE(SubsetsSha256(other), SubsetsSha256(Plan()));
}

TEST(SubsetsFileTest, ErrorsNameTheRule) {
  const std::string path = Path("bad.safetensors");
  SubsetPlan plan = Plan();
  const auto read = [&] {
    EXPECT_TRUE(WriteSubsets(path, plan, {}).ok());
    return ReadSubsets(path).status();
  };
  plan.kept[3] = 2;
  EXPECT_THAT(read(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "kept", "row 1"}));
  plan.kept = {0, 0, 0, 0, 1, 1};
  EXPECT_THAT(read(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "row 0 keeps no example"}));
  plan = Plan();
  plan.lines[1] = "two\nlines";
  EXPECT_THAT(read(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "4 lines, expected 3"}));
  plan = Plan();
  plan.examples = "apples";
  EXPECT_THAT(read(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "apples"}));
  plan = Plan();
  plan.share = 1;
  EXPECT_THAT(read(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "kept", "between 0 and 1"}));
  TensorFile file = ReadTensorFile(path).value();
  file.metadata["seed"] = "x";
  file.metadata["kept"] = "0.5";
  ASSERT_TRUE(WriteTensorFile(path, file.metadata, file.tensors).ok());
  EXPECT_THAT(ReadSubsets(path).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {path, "seed"}));
}

TEST(SubsetsFileTest, NamesOfSubsets) {
  const absl::StatusOr<SubsetName> name = ParseSubsetName("dir/a:b.safetensors:17");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->path, "dir/a:b.safetensors");
  EXPECT_EQ(name->number, 17);
  EXPECT_FALSE(ParseSubsetName("").ok());
  for (const char* text : {"plan.safetensors", "plan.safetensors:", ":3", "plan:-1", "plan:1.5"}) {
    EXPECT_THAT(ParseSubsetName(text).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {text, ":17"}));
  }
}

}  // namespace
}  // namespace rutile
