#include "tools/common/run/check_outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Flags = std::vector<std::pair<std::string, std::string>>;

class CheckOutputsTest : public ::testing::Test {
 protected:
  CheckOutputsTest() : input_(Write("input")), other_(Write("other")) {}

  static std::string Path(const std::string& name) { return absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name); }
  static std::string Write(const std::string& name) {
    std::ofstream(Path(name)) << name;
    return Path(name);
  }
  static std::string Message(const Flags& flags, const std::vector<std::string>& args) {
    const absl::Status status = CheckOutputs(flags, args);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status));
    return std::string(status.message());
  }

  const std::string input_, other_;
};

TEST_F(CheckOutputsTest, Right) {
  EXPECT_EQ(Message({}, {input_}), "");
  EXPECT_EQ(Message({{"output", other_}}, {input_}), "");
  EXPECT_EQ(Message({{"output", Path("new")}, {"train", ""}}, {input_, Path("none")}), "");
  EXPECT_EQ(Message({{"output", "-"}}, {"-"}), "");
  EXPECT_EQ(Message({{"output", "/dev/null"}}, {"/dev/null"}), "") << "no file that could be lost";
  EXPECT_EQ(Message({{"output", ""}}, {""}), "");
  EXPECT_EQ(Message({{"output_dir", input_}}, {input_}), "") << "for others to refuse";
}

TEST_F(CheckOutputsTest, AnInputIsKept) {
  EXPECT_EQ(Message({{"output", input_}}, {other_, input_}),
            absl::StrCat("--output=", input_, ": would take the place of an input: give another name"));
  for (const char* flag : {"csv_output", "json_output", "edge_map_output", "output_model", "output_triples",
                           "output_xyz", "export_embeddings"}) {
    EXPECT_THAT(Message({{flag, input_}}, {input_}), HasSubstr(absl::StrCat("--", flag, "=")));
  }
  EXPECT_THAT(Message({{"output", input_}, {"train", absl::StrCat(other_, ",", input_)}}, {}), HasSubstr("an input"));
  EXPECT_THAT(Message({{"train", input_}, {"output", input_}}, {}), HasSubstr("an input"));
  EXPECT_THAT(Message({{"output", input_}}, {absl::StrCat(other_, ",", input_)}), HasSubstr("an input"))
      << "a committee";
}

TEST_F(CheckOutputsTest, ADirectoryIsNoStream) {
  EXPECT_THAT(Message({{"output_dir", "-"}}, {input_}), HasSubstr("--output_dir=-: "));
  EXPECT_THAT(Message({{"check_dir", "-"}}, {}), HasSubstr("--check_dir=-: "));
  EXPECT_EQ(Message({{"output_dir", "./-"}}, {input_}), "");
}

TEST_F(CheckOutputsTest, UnderAnotherName) {
  const std::string link = Path("link");
  ASSERT_EQ(::symlink(input_.c_str(), link.c_str()), 0);
  EXPECT_THAT(Message({{"output", link}}, {input_}), HasSubstr(absl::StrCat("the input ", input_)));
  EXPECT_THAT(Message({{"output", Path("./input")}}, {input_}), HasSubstr("the input"));
}

TEST_F(CheckOutputsTest, InWhatArgumentsStandFor) {
  EXPECT_THAT(Message({{"output", input_}}, {Path("inp*")}), HasSubstr("an input"));
  std::ofstream(Path("names")) << other_ << "\n" << input_ << "\n";
  const std::string list = absl::StrCat("list:", Path("names"));
  EXPECT_THAT(Message({{"output", input_}}, {list}), HasSubstr("an input"));
  EXPECT_EQ(Message({{"output", input_}}, {Path("oth*"), "list:-", "none"}), "");
}

TEST_F(CheckOutputsTest, TwoOutputsOfOneName) {
  const std::string path = ::testing::TempDir() + "/twice";
  const absl::Status status = CheckOutputs({{"select_output", path}, {"output_xyz", path}}, {});
  EXPECT_NE(std::string(status.message()).find("both name"), std::string::npos) << status;
  EXPECT_TRUE(CheckOutputs({{"output", "/dev/null"}, {"csv_output", "/dev/null"}}, {}).ok());
  EXPECT_TRUE(CheckOutputs({{"output", "-"}, {"csv_output", ""}, {"json_output", ""}}, {}).ok());
}

TEST_F(CheckOutputsTest, OneOutputToStandardOutput) {
  for (const char* first : {"-", "/dev/stdout", "/dev/fd/1"}) {
    EXPECT_THAT(Message({{"output_model", first}, {"output_triples", "-"}}, {}),
                AllOf(HasSubstr("--output_model and --output_triples"), HasSubstr("only one of them can be -")));
  }
  EXPECT_EQ(Message({{"output_model", "-"}, {"output_triples", "./-"}, {"other", "-"}}, {}), "");
}

TEST_F(CheckOutputsTest, TwoOutputsOfOneFile) {
  const std::string directory = ::testing::TempDir() + "/one", link = ::testing::TempDir() + "/another";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(directory.c_str(), link.c_str()), 0);
  const std::string path = directory + "/new";
  for (const std::string& same :
       {directory + "/./new", directory + "//new", directory + "/../one/new", link + "/new"}) {
    EXPECT_THAT(Message({{"output_model", path}, {"output_triples", same}}, {}),
                AllOf(HasSubstr("--output_model and --output_triples"), HasSubstr(path), HasSubstr(same)));
  }
  EXPECT_EQ(Message({{"output_model", path}, {"output_triples", directory + "/other"}}, {}), "");
  EXPECT_EQ(Message({{"output_model", path}, {"output_triples", ::testing::TempDir() + "/new"}}, {}), "");
}

TEST_F(CheckOutputsTest, NamesTheFlagOfTheInput) {
  EXPECT_THAT(Message({{"output", input_}, {"train", absl::StrCat(other_, ",", input_)}}, {}), HasSubstr("--train"));
  EXPECT_THAT(Message({{"output_model", input_}, {"test_data", Path("inp*")}}, {}),
              AllOf(HasSubstr("--output_model="), HasSubstr("--test_data")));
  EXPECT_EQ(Message({{"output", input_}, {"output_dir", ::testing::TempDir()}}, {}), "") << "a directory is no input";
  EXPECT_EQ(Message({{"output", input_}, {"predictions", ::testing::TempDir()}}, {}), "") << "nor of a flag";
  EXPECT_EQ(Message({{"output", input_}, {"config_type", Path("inp*")}}, {}), "") << "globs of names are no files";
}

}  // namespace
}  // namespace rutile
