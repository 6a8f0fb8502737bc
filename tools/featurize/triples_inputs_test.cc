#include "tools/featurize/triples_inputs.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/graph/text/graph_testing.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Triples(const std::string& name) { return WriteText(name, "a\tr\tb\n"); }

std::string Error(const std::vector<std::string>& paths) {
  BuildGraphOptions options;
  const absl::Status status = AssignTriplesInputs(paths, &options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(TriplesInputsTest, NamesDecide) {
  BuildGraphOptions options;
  const std::string entities = WriteText("entity2id.txt", "2\na\t0\nb\t1\n"),
                    relations = WriteText("rel_dict.txt", "r\t0\n");
  const std::string names = WriteText("node_name_dict.txt", "A\t0\n"),
                    map = WriteText("edge_map.json", "{\n \"{}\": \"r\"}");
  const std::string nodes = WriteText("n.jsonl", "{\"id\":\"a\"}\n");
  ASSERT_TRUE(AssignTriplesInputs({entities, Triples("Test.tsv"), relations, Triples("dev.txt"),
                                   Triples("robo_train.txt"), names, Triples("train2id.txt"), map, nodes},
                                  &options)
                  .ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("robo_train.txt"), EndsWith("train2id.txt")));
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("dev.txt")));
  EXPECT_THAT(options.test, ElementsAre(EndsWith("Test.tsv")));
  EXPECT_EQ(options.entity_to_id, entities);
  EXPECT_EQ(options.relation_to_id, relations);
  EXPECT_EQ(options.node_name_dict, names);
  EXPECT_EQ(options.edge_map, map);
  EXPECT_EQ(options.nodes, nodes);
  EXPECT_EQ(AllInputs(options).size(), 9);
  EXPECT_THAT(DescribeInputs(options), HasSubstr("robo_train.txt + "));
}

TEST(TriplesInputsTest, PositionDecides) {
  BuildGraphOptions options;
  ASSERT_TRUE(AssignTriplesInputs({Triples("a"), Triples("latest"), Triples("c")}, &options).ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("a")));
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("latest")));
  EXPECT_THAT(options.test, ElementsAre(EndsWith("c")));
  options = BuildGraphOptions();
  ASSERT_TRUE(AssignTriplesInputs({Triples("rotorobo.txt")}, &options).ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("rotorobo.txt")));
  EXPECT_THAT(options.valid, IsEmpty());
}

std::string InFolder(const std::string& folder, const std::string& name) {
  EXPECT_TRUE(MakeDirectories(absl::StrCat(::testing::TempDir(), "/", folder)).ok());
  return Triples(absl::StrCat(folder, "/", name));
}

// Where names say nothing, folders decide, the nearest first, in whatever order a glob gives them.
TEST(TriplesInputsTest, FoldersDecide) {
  BuildGraphOptions options;
  ASSERT_TRUE(
      AssignTriplesInputs({InFolder("test", "triples.txt"), InFolder("train", "triples.txt"),
                           InFolder("train/more", "triples.txt"), InFolder("my-valid/train2/dev", "triples.txt")},
                          &options)
          .ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("/train/triples.txt"), EndsWith("/train/more/triples.txt")));
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("/dev/triples.txt")));
  EXPECT_THAT(options.test, ElementsAre(EndsWith("/test/triples.txt")));
  // A file may have its split in its own name, if folders agree.
  options = BuildGraphOptions();
  ASSERT_TRUE(AssignTriplesInputs({InFolder("test", "x"), InFolder("other", "train.txt")}, &options).ok());
  EXPECT_THAT(options.test, ElementsAre(EndsWith("/test/x")));
  EXPECT_THAT(Error({InFolder("train", "test.txt"), InFolder("test", "train.txt")}),
              HasSubstr("train/test.txt: its name says test, its folder train; give --train"));
  EXPECT_THAT(Error({InFolder("test", "x"), InFolder("other", "x")}), HasSubstr("other/x: its name has no split"));
  // A name that only contains the word is no split, and one folder alone does not contradict names.
  options = BuildGraphOptions();
  ASSERT_TRUE(AssignTriplesInputs({InFolder("my_test", "a"), InFolder("my_train", "b")}, &options).ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("my_test/a")));
  options = BuildGraphOptions();
  ASSERT_TRUE(AssignTriplesInputs({Triples("train.txt"), InFolder("test", "valid.txt")}, &options).ok());
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("test/valid.txt")));
}

// A folder that all files share does not count: whose project is called test does not test alone.
TEST(TriplesInputsTest, SharedFoldersDoNotCount) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/train");
  ASSERT_TRUE(MakeDirectories(directory).ok());
  BuildGraphOptions options;
  ASSERT_TRUE(AssignTriplesInputs({InFolder("test", "train.txt"), InFolder("test", "valid.txt")}, &options).ok());
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("test/valid.txt")));
  options = BuildGraphOptions();
  ASSERT_TRUE(AssignTriplesInputs({Triples("train/x"), Triples("train/y")}, &options).ok());
  EXPECT_THAT(options.valid, ElementsAre(EndsWith("train/y")));
}

// Tables and N-Triples are triples; other files are if flags say how to cut them.
TEST(TriplesInputsTest, TablesByContentOrFlag) {
  BuildGraphOptions options;
  ASSERT_TRUE(AssignTriplesInputs({WriteText("a.csv", "a,r,b\nb,r,c\n"), WriteText("s.nt", "<a> <r> <b> .\n"),
                                   WriteText("edges.tsv", "id\tsubject\tpredicate\tobject\n1\ta\tr\tb\n"),
                                   WriteText("nodes.tsv", "id\tname\na\tA\n")},
                                  &options)
                  .ok());
  EXPECT_THAT(options.train, ElementsAre(EndsWith("a.csv")));
  EXPECT_THAT(options.test, ElementsAre(EndsWith("edges.tsv")));
  EXPECT_THAT(options.nodes, EndsWith("nodes.tsv"));
  options = BuildGraphOptions();
  options.table.separator = "::";
  EXPECT_TRUE(AssignTriplesInputs({WriteText("odd", "a::r::b\n")}, &options).ok());
}

// A file whose name indicates triples is read as such, so that the error in its first line is reported.
TEST(TriplesInputsTest, MalformedFirstLine) {
  BuildGraphOptions options;
  EXPECT_TRUE(AssignTriplesInputs({WriteText("train.txt", "a b c\n"), Triples("valid.txt")}, &options).ok());
}

TEST(TriplesInputsTest, Undecided) {
  EXPECT_THAT(Error({Triples("train.txt"), Triples("x")}), HasSubstr("x: its name has no split, as others' do"));
  EXPECT_THAT(Error({Triples("train_test.txt"), Triples("train.txt")}), HasSubstr("train_test.txt: its name has no"));
  EXPECT_THAT(Error({Triples("a"), Triples("b"), Triples("c"), Triples("d")}), HasSubstr("4 files of triples"));
  EXPECT_THAT(Error({Triples("test.txt")}), HasSubstr("no file of training triples"));
  EXPECT_THAT(Error({Triples("a"), WriteText("dict.txt", "a\t0\n")}),
              HasSubstr("dict.txt: names and indices, but of what?"));
  EXPECT_THAT(Error({WriteText("node_dict", "a\t0\n"), WriteText("entities", "a\t0\n")}),
              HasSubstr("entities: --entity_to_id is "));
  EXPECT_THAT(Error({Triples("a"), WriteText("README", "words\n")}),
              HasSubstr("README: is no file of triples, ids or KGX"));
}

}  // namespace
}  // namespace rutile
