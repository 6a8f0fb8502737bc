#include "lib/graph/text/formats/kgx_edge.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Parses an edge from a to b that affects it; more: further fields, with a comma before each. Returns the relation's
// label, "negated", or the problem.
class Edges {
 public:
  explicit Edges(EdgeOptions options = {}) : parser_(&map_, std::move(options)) {}

  std::string Parse(const std::string& more) {
    return Result(
        parser_.ParseLine(absl::StrCat("{\"subject\":\"a\",\"predicate\":\"affects\",\"object\":\"b\"", more, "}")));
  }
  std::string ParseRow(const std::vector<std::string>& columns, const std::vector<absl::string_view>& fields) {
    return Result(parser_.ParseRow(columns, fields));
  }
  std::vector<std::string> Unused() const {
    std::vector<std::string> names;
    for (const JsonField& field : parser_.unused()) names.push_back(field.name);
    return names;
  }
  EdgeMap& map() { return map_; }

 private:
  std::string Result(KgxEdgeParser::Outcome outcome) {
    if (outcome == KgxEdgeParser::kNegated) return "negated";
    if (outcome != KgxEdgeParser::kEdge) return parser_.problem();
    EXPECT_EQ(parser_.subject(), "a");
    EXPECT_EQ(parser_.object(), "b");
    return map_.Labels().at(std::string(parser_.relation()));
  }

  EdgeMap map_;
  KgxEdgeParser parser_;
};

TEST(KgxEdgeTest, NegatedStatementsAreNoTriples) {
  Edges edges;
  for (const char* value : {"true", "\"True\"", "\"true\"", "1", "\"yes\""}) {
    EXPECT_EQ(edges.Parse(absl::StrCat(",\"negated\":", value)), "negated") << value;
  }
  for (const char* value : {"false", "\"False\"", "null", "\"\"", "0"}) {
    EXPECT_EQ(edges.Parse(absl::StrCat(",\"negated\":", value)), "affects") << value;
  }
  EXPECT_EQ(edges.Parse(",\"negated\":\"perhaps\""), "\"negated\" is \"perhaps\", expected true or false");
  EXPECT_THAT(edges.Parse(",\"negated\":[true]"), HasSubstr("\"negated\" is a list or an object"));
  EXPECT_EQ(edges.Parse(",\"attributes\":[{\"attribute_type_id\":\"biolink:negated\",\"value\":true}]"), "negated");
  EXPECT_EQ(edges.Parse(",\"attributes\":[{\"attribute_type_id\":\"biolink:negated\",\"value\":false}]"), "affects");
  EXPECT_EQ(edges.ParseRow({"subject", "predicate", "object", "negated"}, {"a", "affects", "b", "True"}), "negated");
  EXPECT_EQ(edges.map().size(), 1);
}

TEST(KgxEdgeTest, NegatedStatementsCanBeRelations) {
  EdgeOptions options;
  options.negated_relations = true;
  Edges edges(options);
  EXPECT_EQ(edges.Parse(""), "affects");
  EXPECT_EQ(edges.Parse(",\"negated\":true"), "affects (negated)");
  EXPECT_EQ(edges.Parse(",\"negated\":false"), "affects");
  EXPECT_EQ(edges.map().size(), 2);
}

TEST(KgxEdgeTest, QualifiersOfAllSpellingsTellRelationsApart) {
  Edges edges;
  // Biolink's, RTX-KG2's, and TRAPI's, which are Biolink's in a list.
  EXPECT_EQ(edges.Parse(",\"object_direction_qualifier\":\"increased\""), "affects (object_direction increased)");
  EXPECT_EQ(edges.Parse(",\"qualified_object_direction\":\"decreased\""),
            "affects (qualified_object_direction decreased)");
  EXPECT_EQ(edges.Parse(",\"qualifiers\":[{\"qualifier_type_id\":\"biolink:object_direction_qualifier\","
                        "\"qualifier_value\":\"increased\"}]"),
            "affects (object_direction increased)");
  EXPECT_EQ(edges.Parse(",\"qualified_predicate\":\"causes\",\"subject_form_or_variant_qualifier\":\"mutant\""),
            "affects (qualified_predicate causes, subject_form_or_variant mutant)");
  EXPECT_EQ(edges.Parse(",\"species_context_qualifier\":\"NCBITaxon:9606\""),
            "affects (species_context NCBITaxon:9606)");
  EXPECT_EQ(edges.Parse(",\"qualifiers\":[\"z\",\"y\"]"), "affects (qualifiers y|z)");
  EXPECT_EQ(edges.Parse(",\"Qualifier\":5"), "affects (Qualifier 5)");
  EXPECT_EQ(edges.Parse(",\"qualifiers\":[]"), "affects");
  EXPECT_EQ(edges.Parse(",\"publications\":[\"x\"],\"score\":1"), "affects");
  EXPECT_THAT(edges.Unused(), IsEmpty());
  // Twice, in agreement or not.
  const std::string list =
      ",\"qualifiers\":[{\"qualifier_type_id\":\"biolink:object_direction_qualifier\",\"qualifier_value\":\"up\"}]";
  EXPECT_EQ(edges.Parse(list + ",\"object_direction_qualifier\":\"up\""), "affects (object_direction up)");
  EXPECT_THAT(edges.Parse(list + ",\"object_direction_qualifier\":\"down\""),
              AllOf(HasSubstr("object_direction_qualifier"), HasSubstr("up"), HasSubstr("down")));
  EXPECT_THAT(edges.Parse(",\"x_qualifier\":\"a\\tb\""), HasSubstr("with a tab or a line end"));
}

TEST(KgxEdgeTest, QualifiersThatAreNotWantedAreReported) {
  EdgeOptions options;
  options.qualifiers = {"object_direction_qualifier"};
  Edges edges(options);
  EXPECT_EQ(edges.Parse(",\"object_direction_qualifier\":\"up\",\"species_context_qualifier\":\"x\","
                        "\"object_aspect_qualifier\":\"activity\""),
            "affects (object_direction up)");
  EXPECT_THAT(edges.Unused(), ElementsAre("species_context_qualifier", "object_aspect_qualifier"));
  EXPECT_EQ(edges.Parse(""), "affects");
  EXPECT_THAT(edges.Unused(), IsEmpty());
  // What has another form tells nothing apart.
  Edges all;
  EXPECT_EQ(all.Parse(",\"qualifiers\":{\"a\":1}"), "affects");
  EXPECT_THAT(all.Unused(), ElementsAre("qualifiers"));
}

TEST(KgxEdgeTest, AGivenMapDecides) {
  auto map = EdgeMap::Parse(R"json({"{\"predicate\":\"affects\",\"negated\":true}":"no",
                                    "{\"predicate\":\"affects\",\"negated\":\"False\"}":"yes"})json",
                            "m");
  ASSERT_TRUE(map.ok()) << map.status();
  KgxEdgeParser parser(&*map, {});
  const std::string edge = "{\"subject\":\"a\",\"predicate\":\"affects\",\"object\":\"b\"";
  EXPECT_EQ(parser.ParseLine(edge + ",\"negated\":true}"), KgxEdgeParser::kEdge);
  EXPECT_EQ(parser.relation(), "no");
  EXPECT_EQ(parser.ParseLine(edge + ",\"negated\":\"True\"}"), KgxEdgeParser::kEdge);
  EXPECT_EQ(parser.relation(), "no");
  // A qualifier that the map does not name makes another statement of the edge, not the one without it.
  EXPECT_EQ(parser.ParseLine(edge + ",\"x_qualifier\":\"z\"}"), KgxEdgeParser::kUnknownRelation);
  EXPECT_EQ(parser.relation(), "");
  EXPECT_THAT(parser.problem(), HasSubstr("has no predicate=affects x_qualifier=\"z\""));
  EXPECT_THAT(parser.unused(), IsEmpty());
  EXPECT_EQ(parser.ParseLine(edge + ",\"x_qualifier\":\"\"}"), KgxEdgeParser::kEdge);
  EXPECT_EQ(parser.relation(), "yes");
  // A map that does not name "negated" makes no triple of such a statement.
  auto plain = EdgeMap::Parse(R"json({"{\"predicate\":\"affects\"}":"yes"})json", "m");
  KgxEdgeParser other(&*plain, {});
  EXPECT_EQ(other.ParseLine(edge + ",\"negated\":true}"), KgxEdgeParser::kNegated);
  EXPECT_EQ(other.ParseLine("{\"subject\":\"a\",\"predicate\":\"p\",\"object\":\"b\"}"),
            KgxEdgeParser::kUnknownRelation);
  EXPECT_EQ(other.problem(), "the edge map has no predicate=p");
}

TEST(KgxEdgeTest, Rows) {
  Edges edges;
  const std::vector<std::string> columns = {"id", "subject", "predicate", "object", "object_direction_qualifier"};
  EXPECT_EQ(edges.ParseRow(columns, {"1", "a", "affects", "b", "up"}), "affects (object_direction up)");
  EXPECT_EQ(edges.ParseRow(columns, {"1", "a", "affects", "b", ""}), "affects");
  EXPECT_EQ(edges.ParseRow(columns, {"1", "a", "", "b", ""}), "an edge without \"predicate\"");
}

}  // namespace
}  // namespace rutile
