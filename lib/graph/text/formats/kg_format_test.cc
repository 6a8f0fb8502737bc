#include "lib/graph/text/formats/kg_format.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

TEST(KgFormatTest, ByContent) {
  EXPECT_EQ(DetectKgFormat("a\tr\tb\n"), KgFormat::kTriples);
  EXPECT_EQ(DetectKgFormat("\r\n\na b\tr s\tc d"), KgFormat::kTriples);
  EXPECT_EQ(DetectKgFormat("1\t2\t3\n"), KgFormat::kTriples);
  EXPECT_EQ(DetectKgFormat("2\n0 1 0\n1 0 0\n"), KgFormat::kCountedTriples);
  EXPECT_EQ(DetectKgFormat("1\r\n0\t1\t0\r\n"), KgFormat::kCountedTriples);
  EXPECT_EQ(DetectKgFormat("a\t0\nb\t1\n"), KgFormat::kIds);
  EXPECT_EQ(DetectKgFormat("0\ta\n"), KgFormat::kIds);
  EXPECT_EQ(DetectKgFormat("2\na\t0\nb\t1\n"), KgFormat::kIds);
  EXPECT_EQ(DetectKgFormat("2\nis part of\t0\nis a\t1\n"), KgFormat::kIds);
  EXPECT_EQ(DetectKgFormat("2\n/m/1 0\n/m/2 1\n"), KgFormat::kIds);
  EXPECT_EQ(DetectKgFormat("{\"id\":\"e\",\"subject\":\"a\"}\n"), KgFormat::kKgxEdges);
  EXPECT_EQ(DetectKgFormat("{\"id\":\"a\",\"name\":\"A\"}\n"), KgFormat::kKgxNodes);
  EXPECT_EQ(DetectKgFormat("# c\n# d\n# e\n# f\n<a> <r> <b> .\n"), KgFormat::kNTriples);
  EXPECT_EQ(DetectKgFormat("_:a <r> \"text\" .\n"), KgFormat::kNTriples);
  EXPECT_EQ(DetectKgFormat("a,r,b\nb,r,c\n"), KgFormat::kTable);
  EXPECT_EQ(DetectKgFormat("relation,x_id,y_id,n\np,1,2,3\n"), KgFormat::kTable);
  EXPECT_EQ(DetectKgFormat("id\tsubject\tpredicate\tobject\n"), KgFormat::kTable);
  EXPECT_EQ(DetectKgFormat("subject\tpredicate\tobject\n"), KgFormat::kTriples);
  EXPECT_EQ(DetectKgFormat("id\tname\tcategory\na\tA\tc\n"), KgFormat::kKgxNodes);
  EXPECT_EQ(DetectKgFormat("{\n  \"{\\\"predicate\\\": \\\"x\\\"}\": \"predicate:0\"\n}"), KgFormat::kEdgeMap);
}

TEST(KgFormatTest, StructuresAreOther) {
  for (const char* text : {
           "",
           "\n\n",
           "word",
           "a\t\tb",
           "a\tb",
           "a\tb\tc\td",
           "3\n\nO 0 0 0\nH 1 0 0\nH 0 1 0\n",
           "2\nframe 1\nO 0 0 0\nH 1 0 0\n",
           "1\n1 2 3\nO 0 0 0\n",
           "1\nLattice=\"1 0 0 0 1 0 0 0 1\"\nO 0 0 0\n",
           "# total energy = -1 eV\nCRYSTAL\n",
           "CRYSTAL\nPRIMVEC\n1\t0\t0\n",
           "begin\nlattice 1 0 0\n",
           "12\n",
           "a, b, c\n",
           "a,r,b\nb,r\n",
           "# total energy = -1 eV, 2, 3\nCRYSTAL\n",
           "<?xml version=\"1.0\"?>\n",
       }) {
    EXPECT_EQ(DetectKgFormat(text), KgFormat::kOther) << text;
  }
}

// The header length of a tensor file may read as a digit and a tab, 0x0938, or as "{".
TEST(KgFormatTest, TensorFilesAreOther) {
  for (const char* length : {"8\t\0\0\0\0\0\0", "{\0\0\0\0\0\0\0"}) {
    EXPECT_EQ(DetectKgFormat(std::string(length, 8) + "{\"__metadata__\":{\"id\":\"x\"}}"), KgFormat::kOther);
  }
}

TEST(KgFormatTest, Files) {
  const std::string path = ::testing::TempDir() + "/t.txt";
  ASSERT_TRUE(WriteFileAtomically(path, "a\tr\tb").ok());
  EXPECT_EQ(*DetectKgFormatOfFile(path), KgFormat::kTriples);
  EXPECT_EQ(*DetectKgFormatOfFile("-"), KgFormat::kOther);
  EXPECT_EQ(*DetectKgFormatOfFile("/dev/null"), KgFormat::kOther);
  EXPECT_EQ(DetectKgFormatOfFile("none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace rutile
