#include "lib/graph/text/formats/triple_reader.h"

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
using ::testing::Not;

// Returns "a|r|b" for a triple, "t:3: problem" for a malformed line, and the status if it is not OK.
std::vector<std::string> ReadAll(std::string bytes, EdgeMap* edges = nullptr, const TripleReaderOptions& options = {}) {
  EdgeMap map;
  auto reader = TripleReader::FromBytes("t", std::move(bytes), edges == nullptr ? &map : edges, options);
  if (!reader.ok()) return {std::string(reader.status().message())};
  std::vector<std::string> items;
  TextTriple triple;
  for (TripleReader::Item item; (item = reader->Next(&triple)) != TripleReader::kEnd;) {
    if (item == TripleReader::kMalformed) {
      items.push_back(absl::StrCat(reader->Place(), ": ", reader->problem()));
    } else if (item == TripleReader::kNegated) {
      items.push_back(absl::StrCat(reader->Place(), ": negated"));
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
  EXPECT_THAT(
      ReadAll("Head\tRelation\tTail\na\tr\tb\nhead\trelation\ttail\n"),
      ElementsAre(
          HasSubstr("t:1: names of columns, \"Head\\tRelation\\tTail\", expected triples from the first line on"),
          "a|r|b", "head|relation|tail"));
  EXPECT_THAT(ReadAll("source\tmetaedge\ttarget\n"), ElementsAre(HasSubstr("t:1: names of columns")));  // Hetionet
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
  // The map's keys have no qualifiers, so that an edge with one is of none of its relations.
  EXPECT_THAT(ReadAll(edges.substr(0, edges.find("\n\n")), &*given),
              ElementsAre("CHEBI:1|treats|MONDO:1", HasSubstr("t:2? the edge map has no predicate=biolink:affects "
                                                              "object_aspect_qualifier=\"activity\"")));
}

TEST(TripleReaderTest, Tables) {
  EXPECT_THAT(ReadAll("a,r,b\n\"b, c\",r,c\n"), ElementsAre("a|r|b", "b, c|r|c"));
  EXPECT_THAT(ReadAll("a r b\nb  r c\n"), ElementsAre("a|r|b", "b|r|c"));
  EXPECT_THAT(ReadAll("\"a\"\t\"r\"\t\"b\"\n\"b\"\t\"r\"\t\"\"\"c\"\"\"\n"), ElementsAre("a|r|b", "b|r|\"c\""));
  EXPECT_THAT(ReadAll("a,r,b\nb\t,r,c d\n\"x,r,y\n"),
              ElementsAre(HasSubstr("t:1: 1 fields"), HasSubstr("t:2: 2 fields"), HasSubstr("t:3: 1 fields")));
  TripleReaderOptions options;
  options.table.separator = ",";
  EXPECT_THAT(ReadAll("a,r,b\n\"b\tb\",r,c\n\"x,r,y\nx,y\n,r,b\n", nullptr, options),
              ElementsAre("a|r|b", HasSubstr("t:2: a tab in the name \"b\\tb\""), HasSubstr("t:3: a quotation mark"),
                          HasSubstr("t:4: 2 fields in \"x,y\""), HasSubstr("t:5: an empty field")));
  options = TripleReaderOptions();
  options.table.columns = {"3", "2", "4"};
  EXPECT_THAT(ReadAll("/a/1\t/r/IsA\t/c/a\t/c/b\t{}\n/a/2\t/r/IsA\t/c/a\n", nullptr, options),
              ElementsAre("/c/a|/r/IsA|/c/b", HasSubstr("t:2: 3 fields in")));
  options.table.columns = {"x", "rel", "y"};
  EXPECT_THAT(ReadAll("rel,x,y\r\np,1,2\r\n", nullptr, options), ElementsAre("1|p|2"));
  EXPECT_THAT(ReadAll("\nrel,x,z\np,1,2\n", nullptr, options), ElementsAre(HasSubstr("t:1: no column \"y\"")));
  // A line that is cut strangely from the first on is never read beyond its end.
  options.table.columns = {"1", "2", "4"};
  options.table.separator = ",";
  EXPECT_THAT(ReadAll("a,b,c,d,\"e\nx,y,z\n", nullptr, options),
              ElementsAre(HasSubstr("t:1: a quotation mark"), HasSubstr("t:2: 3 fields")));
  options = TripleReaderOptions();
  options.table.header = TableOptions::Header::kNo;
  EXPECT_THAT(ReadAll("head\trelation\ttail\n", nullptr, options), ElementsAre("head|relation|tail"));
}

TEST(TripleReaderTest, HintsAreInTheFirstLineAlone) {
  const auto items = ReadAll("a\tr\tb\t0.93\nb\tr\tc\t0.2\n");
  ASSERT_EQ(items.size(), 2);
  EXPECT_THAT(items[0], HasSubstr("--columns=1,2,3"));
  EXPECT_THAT(items[1], Not(HasSubstr("--columns")));
  EXPECT_THAT(ReadAll("a::r::b\n"), ElementsAre(HasSubstr("--separator")));
  // Bytes that are no text are not shown.
  EXPECT_THAT(ReadAll("\xff\xfe\x01\n"), ElementsAre("t:1: text that is not UTF-8, expected names in UTF-8"));
}

TEST(TripleReaderTest, KgxTable) {
  const std::string table =
      "id\tsubject\tpredicate\tobject\tnegated\tspecies_context_qualifier\nu1\ta\tp\tb\t\t\nu2\ta\tp\tc\tTrue\t\n"
      "u3\ta\tp\tb\tfalse\t9606\nu4\ta\t\tb\t\t\n";
  EdgeMap grown;
  EXPECT_THAT(ReadAll(table, &grown),
              ElementsAre("a|predicate:0|b", "t:3: negated", "a|predicate:1|b", "t:5: an edge without \"predicate\""));
  EXPECT_EQ(grown.Labels().at("predicate:1"), "p (species_context 9606)");
}

TEST(TripleReaderTest, NTriples) {
  EXPECT_THAT(ReadAll("# a\n\n<a> <r> <b> .\n# b\n<a> <r> \"x\" .\n<a> <r>\n<a> <r> <\xff> .\n"),
              ElementsAre("a|r|b", "a|r|\"x\"", HasSubstr("t:6: \"<a> <r>\": no object"),
                          HasSubstr("t:7: text that is not UTF-8")));
}

TEST(TripleReaderTest, PeekShowsWhatNextReturns) {
  EdgeMap map;
  TripleReaderOptions options;
  options.table.columns = {"3", "2", "1"};
  auto reader = TripleReader::FromBytes("t", "a\tr\tb\nx\nb\tr\tc\n", &map, options);
  ASSERT_TRUE(reader.ok());
  const auto peeked = reader->Peek();
  ASSERT_EQ(peeked.size(), 2);
  EXPECT_EQ(peeked[1].head, "c");
  EXPECT_EQ(peeked[1].tail, "b");
  TextTriple triple;
  EXPECT_EQ(reader->Next(&triple), TripleReader::kTriple);
  EXPECT_EQ(triple.head, "b");
}

TEST(TripleReaderTest, OtherFiles) {
  EXPECT_THAT(ReadAll("a\t0\nb\t1\n"), ElementsAre(HasSubstr("t: is a file of names and indices, expected triples")));
  EXPECT_THAT(ReadAll("{\"id\":\"a\"}\n"), ElementsAre(HasSubstr("t: is a file of KGX nodes, expected triples")));
  EXPECT_THAT(ReadAll("{}\n"), ElementsAre(HasSubstr("t: is an edge map, expected triples")));
  EXPECT_THAT(ReadAll("{\"nodes\": [], \"edges\": []}\n"), ElementsAre(HasSubstr("t: is JSON as one object")));
  EXPECT_THAT(ReadAll("[{\"subject\":\"a\"}]\n"), ElementsAre(HasSubstr("t: is JSON as a list")));
  EXPECT_THAT(ReadAll("@prefix ex: <http://x/> .\nex:a ex:r ex:b .\n"), ElementsAre(HasSubstr("rapper -i turtle")));
  EXPECT_THAT(ReadAll("<?xml version=\"1.0\"?>\n"), ElementsAre(HasSubstr("rapper -i rdfxml")));
  EdgeMap map;
  EXPECT_EQ(TripleReader::Open("none.txt", &map).status().code(), absl::StatusCode::kNotFound);
}

TEST(TripleReaderTest, DamagedGzipIsAnError) {
  EXPECT_THAT(ReadAll(std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10)),
              ElementsAre(HasSubstr("t: the gzip data end too early")));
}

}  // namespace
}  // namespace rutile
