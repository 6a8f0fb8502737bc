#include "lib/file/input_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Gives each test a directory of its own as current directory.
class InputFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/inputs.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    ASSERT_EQ(::chdir(name.c_str()), 0);
    ASSERT_TRUE(MakeDirectories("d/sub").ok());
    ASSERT_TRUE(MakeDirectories("empty").ok());
    for (const char* file : {"b.xsf", "a.xsf", "B.xsf", "d/2", "d/1", "d/10", "d/.hidden", "d/sub/x", "star*.xsf"}) {
      Write(file, "");
    }
  }

  static void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  }

  static std::vector<std::string> Expand(const std::vector<std::string>& arguments) {
    const auto files = ExpandInputs(arguments);
    EXPECT_TRUE(files.ok()) << files.status();
    return files.ok() ? *files : std::vector<std::string>();
  }

  static std::string Error(const std::vector<std::string>& arguments) {
    return std::string(ExpandInputs(arguments).status().message());
  }
};

TEST_F(InputFilesTest, FilesKeepTheirOrderAndRepetitions) {
  EXPECT_THAT(Expand({"b.xsf", "a.xsf", "b.xsf"}), ElementsAre("b.xsf", "a.xsf", "b.xsf"));
  EXPECT_THAT(Expand({"/dev/null", "-"}), ElementsAre("/dev/null", "-"));
}

TEST_F(InputFilesTest, DirectoryGivesItsFilesSorted) {
  EXPECT_THAT(Expand({"d"}), ElementsAre("d/1", "d/10", "d/2"));
  EXPECT_THAT(Expand({"d/"}), ElementsAre("d/1", "d/10", "d/2"));
}

TEST_F(InputFilesTest, GlobsAreSortedByBytes) {
  EXPECT_THAT(Expand({"?.xsf"}), ElementsAre("B.xsf", "a.xsf", "b.xsf"));
  EXPECT_THAT(Expand({"[ab].xsf", "d/*0"}), ElementsAre("a.xsf", "b.xsf", "d/10"));
  EXPECT_THAT(Expand({"d*"}), ElementsAre("d/1", "d/10", "d/2"));
}

TEST_F(InputFilesTest, ANameThatExistsIsNoGlob) { EXPECT_THAT(Expand({"star*.xsf"}), ElementsAre("star*.xsf")); }

TEST_F(InputFilesTest, List) {
  Write("list", "# comment\n b.xsf \r\n\n  # more\nd\n*a.xsf");
  EXPECT_THAT(Expand({"a.xsf", "list:list"}), ElementsAre("a.xsf", "b.xsf", "d/1", "d/10", "d/2", "a.xsf"));
}

// A tool may expand its arguments twice: to find out what they are, and to read them.
TEST_F(InputFilesTest, AListFromAPipeIsReadOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int saved = ::dup(STDIN_FILENO);
  ASSERT_EQ(::dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  ASSERT_EQ(::write(ends[1], "a.xsf\nd\n", 8), 8);
  ::close(ends[1]);
  const std::vector<std::string> first = Expand({"list:-"}), second = Expand({"list:-"});
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(ends[0]);
  EXPECT_THAT(first, ElementsAre("a.xsf", "d/1", "d/10", "d/2"));
  EXPECT_EQ(second, first);
}

TEST_F(InputFilesTest, Errors) {
  Write("empty_list", "\n# nothing\n");
  Write("bad_list", "a.xsf\n\nmissing.xsf\n");
  Write("nested", "list:bad_list\n");
  EXPECT_THAT(Error({}), HasSubstr("no input"));
  EXPECT_THAT(Error({""}), HasSubstr("empty name"));
  EXPECT_THAT(Error({"missing.xsf"}), HasSubstr("missing.xsf: No such file"));
  EXPECT_THAT(Error({"*.nothing"}), HasSubstr("*.nothing: no file matches"));
  EXPECT_THAT(Error({"empty"}), HasSubstr("empty: a directory without files"));
  EXPECT_THAT(Error({"list:missing"}), HasSubstr("missing: No such file"));
  EXPECT_THAT(Error({"list:empty_list"}), HasSubstr("empty_list: an empty list"));
  EXPECT_THAT(Error({"list:bad_list"}), HasSubstr("bad_list:3: missing.xsf: No such file"));
  EXPECT_THAT(Error({"list:nested"}), HasSubstr("nested:1: list:bad_list: a list within a list"));
  EXPECT_THAT(Error({"-", "a.xsf", "-"}), HasSubstr("given twice"));
  EXPECT_EQ(ExpandInputs({"missing.xsf"}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(InputFilesTest, NamesMayHaveCommas) {
  Write("a,b.xsf", "");
  EXPECT_THAT(SplitInputs("a,b.xsf"), ElementsAre("a,b.xsf"));
  EXPECT_THAT(SplitInputs("a.xsf,c.xsf,"), ElementsAre("a.xsf", "c.xsf"));
  EXPECT_TRUE(SplitInputs("").empty());
}

TEST_F(InputFilesTest, ShardsAreInOrderAndAllThere) {
  ASSERT_TRUE(MakeDirectories("shards").ok());
  std::vector<std::string> all;
  for (int i = 1; i <= 11; ++i) {
    all.push_back("shards/x-000" + std::string(i < 10 ? "0" : "") + std::to_string(i) + "-of-00011.safetensors");
    Write(all.back(), "");
  }
  EXPECT_EQ(Expand({"shards"}), all);
  EXPECT_EQ(Expand({"shards/x-*.safetensors"}), all);
  ASSERT_EQ(::unlink(all[6].c_str()), 0);
  for (const char* found : {"shards", "shards/*"}) {
    EXPECT_THAT(std::string(ExpandInputs({found}).status().message()),
                HasSubstr("shards/x-00007-of-00011.safetensors is missing"));
  }
  EXPECT_FALSE(ExpandInputs({all[0], all[1]}).ok());
  EXPECT_THAT(Expand({all[1]}), ElementsAre(all[1]));
  // Shards in a list are not checked: the user chose them.
  Write("list", all[1] + "\n" + all[0] + "\n");
  EXPECT_THAT(Expand({"list:list"}), ElementsAre(all[1], all[0]));
}

}  // namespace
}  // namespace rutile
