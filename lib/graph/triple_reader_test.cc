#include "lib/graph/triple_reader.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns "a|r|b" for a triple, "t:3: problem" for a malformed line, and the status if it is not OK.
std::vector<std::string> ReadAll(std::string bytes, EdgeMap* edges = nullptr) {
  EdgeMap map;
  auto reader = TripleReader::FromBytes("t", std::move(bytes), edges == nullptr ? &map : edges);
  if (!reader.ok()) return {std::string(reader.status().message())};
  std::vector<std::string> items;
  TextTriple triple;
  for (TripleReader::Item item; (item = reader->Next(&triple)) != TripleReader::kEnd;) {
    if (item == TripleReader::kMalformed) {
      items.push_back(absl::StrCat(reader->Place(), ": ", reader->problem()));
    } else if (reader->unknown_relation()) {
      items.push_back(absl::StrCat(reader->Place(), "? ", reader->problem()));
    } else {
      items.push_back(absl::StrCat(triple.head, "|", triple.relation, "|", triple.tail));
    }
  }
  if (!reader->status().ok()) items.push_back(std::string(reader->status().message()));
  return items;
}

TEST(TripleReaderTest, Names) {
  EXPECT_THAT(ReadAll("a\tr\tb\n00260881\t_hypernym\t00260622\n"), ElementsAre("a|r|b", "00260881|_hypernym|00260622"));
  EXPECT_THAT(ReadAll("a\tr\tb\r\n\r\n \t \n c d\tr s\té\r\n\ne\tr\tf"), ElementsAre("a|r|b", " c d|r s|é", "e|r|f"));
  EXPECT_THAT(ReadAll("\xEF\xBB\xBF"
                      "a\tr\tb"),
              ElementsAre("a|r|b"));
  EXPECT_THAT(ReadAll("0\t1\t2\n"), ElementsAre("0|1|2"));
  EXPECT_THAT(ReadAll(""), ElementsAre());
  EXPECT_THAT(ReadAll("\n\n"), ElementsAre());
}

TEST(TripleReaderTest, MalformedNames) {
  EXPECT_THAT(ReadAll("a\tr\tb\n\na b c\nx\ty\nx\ty\tz\tw\na\t\tb\n\tr\tb\na\tr\t\nc\tr\t\xff\nd\tr\te\n"),
              ElementsAre("a|r|b", "t:3: 1 fields in \"a b c\", expected head, relation and tail with a tab between",
                          HasSubstr("t:4: 2 fields in \"x\\ty\""), HasSubstr("t:5: 4 fields in"),
                          "t:6: an empty field in \"a\\t\\tb\", expected head, relation and tail",
                          HasSubstr("t:7: an empty field"), HasSubstr("t:8: an empty field"),
                          "t:9: text that is not UTF-8, expected names in UTF-8", "d|r|e"));
  // Only the first line can be a header.
  EXPECT_THAT(ReadAll("Head\tRelation\tTail\na\tr\tb\nhead\trelation\ttail\n"),
              ElementsAre("t:1: names of columns, \"Head\\tRelation\\tTail\", expected triples from the first line on",
                          "a|r|b", "head|relation|tail"));
  // Long lines are cut in messages, between characters.
  EXPECT_THAT(ReadAll("a\tr\tb\n" + std::string(59, 'x') + "éé\n"),
              ElementsAre("a|r|b", HasSubstr(absl::StrCat("1 fields in \"", std::string(59, 'x'), "\"..., expected"))));
}

TEST(TripleReaderTest, CountedIds) {
  EXPECT_THAT(ReadAll("2\n0 5 1\n3\t4\t0\n"), ElementsAre("0|1|5", "3|0|4"));
  EXPECT_THAT(ReadAll("\n2\r\n0 5 1\r\n\r\n3  4 0"), ElementsAre("0|1|5", "3|0|4"));
  EXPECT_THAT(ReadAll("3\n0 5 1\n3 4 0\n"),
              ElementsAre("0|1|5", "3|0|4",
                          "t: its first line counts 3 triples, but 2 lines follow; the file is cut off or joined"));
  EXPECT_THAT(ReadAll("3\n0 5 1\n3 4 0\n1 x 0\n"),
              ElementsAre("0|1|5", "3|0|4", "t:4: \"1 x 0\", expected the ids of head, tail and relation"));
  EXPECT_THAT(ReadAll("4\n0 5 1\n3 4 0\n1 2\n1 2 3 4\n"),
              ElementsAre("0|1|5", "3|0|4", HasSubstr("t:4: \"1 2\""), HasSubstr("t:5: \"1 2 3 4\"")));
  EXPECT_THAT(ReadAll("99999999999999999999\n0 5 1\n"),
              ElementsAre(HasSubstr("t:1: \"99999999999999999999\" is no number")));
}

TEST(TripleReaderTest, KgxEdges) {
  const std::string edges =
      R"({"subject":"CHEBI:1","predicate":"biolink:treats","object":"MONDO:1","primary_knowledge_source":"x"}
{"subject":"CHEBI:1","predicate":"biolink:affects","object_aspect_qualifier":"activity","object":"NCBIGene:2"}

{"subject":"CHEBI:2","predicate":"biolink:treats","object":"MONDO:1","object_aspect_qualifier":null}
{"subject":"CHEBI:2","object":"MONDO:1"}
{"subject":"CHEBI:2","predicate":"biolink:treats","object":"MON\tDO:1"}
{"subject":"CHEBI:2","predicate":["biolink:treats"],"object":"MONDO:1"}
{"subject":"CHEBI:2"
)";
  EdgeMap grown;
  EXPECT_THAT(
      ReadAll(edges, &grown),
      ElementsAre("CHEBI:1|predicate:0|MONDO:1", "CHEBI:1|predicate:1|NCBIGene:2", "CHEBI:2|predicate:0|MONDO:1",
                  "t:5: an edge without \"predicate\"", "t:6: \"object\" is \"MON\\tDO:1\", with a tab or a line end",
                  "t:7: \"predicate\" is a list, expected a text", HasSubstr("t:8: not valid JSON")));
  EXPECT_EQ(grown.size(), 2);
  auto given = EdgeMap::Parse(R"({"{\"predicate\":\"biolink:treats\"}":"treats"})", "m");
  ASSERT_TRUE(given.ok());
  // The map's keys have no qualifiers, so edges' qualifiers are ignored.
  EXPECT_THAT(ReadAll(edges.substr(0, edges.find("\n\n")), &*given),
              ElementsAre("CHEBI:1|treats|MONDO:1", "t:2? the edge map has no predicate=biolink:affects"));
}

TEST(TripleReaderTest, OtherFiles) {
  EXPECT_THAT(ReadAll("a\t0\nb\t1\n"), ElementsAre(HasSubstr("t: is a file of names and indices, expected triples")));
  EXPECT_THAT(ReadAll("{\"id\":\"a\"}\n"), ElementsAre(HasSubstr("t: is a file of KGX nodes, expected triples")));
  EXPECT_THAT(ReadAll("{}\n"), ElementsAre(HasSubstr("t: is an edge map, expected triples")));
  EdgeMap map;
  EXPECT_EQ(TripleReader::Open("none.txt", &map).status().code(), absl::StatusCode::kNotFound);
}

TEST(TripleReaderTest, DamagedGzipIsAnError) {
  EXPECT_THAT(ReadAll(std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10)),
              ElementsAre(HasSubstr("t: the gzip data end too early")));
}

}  // namespace
}  // namespace rutile
