#include "lib/graph/text/formats/n_triples.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Returns "s|p|o", with "!" behind a literal, or the problem.
std::string Parse(const std::string& line) {
  NTriple triple;
  std::string problem;
  if (!ParseNTriplesLine(line, &triple, &problem)) return problem;
  return triple.subject + "|" + triple.predicate + "|" + triple.object + (triple.object_is_literal ? "!" : "");
}

TEST(NTriplesTest, ReadsTheTermsOfTheStandard) {
  EXPECT_EQ(Parse("<http://a/s> <http://a/p> <http://a/o> ."), "http://a/s|http://a/p|http://a/o");
  EXPECT_EQ(Parse("\t<s>\t<p>\t<o>.\t# a comment"), "s|p|o");
  EXPECT_EQ(Parse("<s><p><o>."), "s|p|o");
  EXPECT_EQ(Parse("_:b0 <p> _:b.1 ."), "_:b0|p|_:b.1");
  EXPECT_EQ(Parse("<s> <p> _:b1."), "s|p|_:b1");
  EXPECT_EQ(Parse("<s> <p> \"a label with spaces\"@en-GB ."), "s|p|\"a label with spaces\"@en-GB!");
  EXPECT_EQ(Parse("<s> <p> \"a \\\"b\\\" .\" ."), "s|p|\"a \\\"b\\\" .\"!");
  EXPECT_EQ(Parse("<s> <p> \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> ."),
            "s|p|\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>!");
  // IRIs are the same whether their characters are escaped or not.
  EXPECT_EQ(Parse("<caf\\u00e9> <p> <\\U0001F600> ."), "café|p|😀");
  // The fourth term of N-Quads names a graph.
  EXPECT_EQ(Parse("<s> <p> <o> <graph> ."), "s|p|o");
}

TEST(NTriplesTest, OtherLinesAreProblems) {
  EXPECT_THAT(Parse("<s> <p> ."), HasSubstr("no object"));
  EXPECT_THAT(Parse("<s> \"p\" <o> ."), HasSubstr("no predicate"));
  EXPECT_THAT(Parse("\"s\" <p> <o> ."), HasSubstr("no subject"));
  EXPECT_THAT(Parse("<s> <p> <o>"), HasSubstr("no period"));
  EXPECT_THAT(Parse("<s> <p> <o> . <s> <p> <o> ."), HasSubstr("more than one statement"));
  EXPECT_THAT(Parse("<s> <p> \"o ."), HasSubstr("literal"));
  EXPECT_THAT(Parse("<s> <p> \"o\\\" ."), HasSubstr("literal"));
  EXPECT_THAT(Parse("<s> <p> \"a\tb\" ."), HasSubstr("tab"));
  EXPECT_THAT(Parse("<s> <p> \"o\"^^<x ."), HasSubstr("literal"));
  for (const char* iri : {"<>", "<a b>", "<a\\>", "<\\u00>", "<\\u0009>", "<\\ud800>", "<\\U00110000>", "<a"}) {
    EXPECT_THAT(Parse(std::string(iri) + " <p> <o> ."), HasSubstr("no subject")) << iri;
  }
  EXPECT_THAT(Parse(""), HasSubstr("no subject"));
}

TEST(NTriplesTest, LinesAreRecognized) {
  EXPECT_TRUE(IsNTriplesLine("<s> <p> <o> ."));
  EXPECT_TRUE(IsNTriplesLine("  _:b <p> \"x\" .\r"));
  EXPECT_FALSE(IsNTriplesLine("<?xml version=\"1.0\"?>"));
  EXPECT_FALSE(IsNTriplesLine("a\tr\tb ."));
  EXPECT_TRUE(IsNTriplesComment(" # words"));
  EXPECT_FALSE(IsNTriplesComment("<s>"));
}

}  // namespace
}  // namespace rutile
