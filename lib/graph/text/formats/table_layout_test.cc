#include "lib/graph/text/formats/table_layout.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Split(const std::string& line, const std::string& separator, bool quoted) {
  FieldSplitter splitter(separator, quoted);
  if (!splitter.Split(line)) return {"not split"};
  return {splitter.fields().begin(), splitter.fields().end()};
}

TableLayout Find(const std::string& text, const TableOptions& options = {}) {
  const auto layout = FindTableLayout(text, /*is_whole=*/true, options);
  EXPECT_TRUE(layout.ok()) << layout.status();
  return layout.ok() ? *layout : TableLayout();
}

TEST(FieldSplitterTest, PlainFields) {
  EXPECT_THAT(Split(" a b\t\tc", "\t", false), ElementsAre(" a b", "", "c"));
  EXPECT_THAT(Split("a, b ,c", ",", false), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Split("  a \t b  c ", " ", false), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Split("a ||| b c ||| d", " ||| ", false), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(Split("\"a\"\tb", "\t", false), ElementsAre("\"a\"", "b"));
}

TEST(FieldSplitterTest, QuotedFields) {
  EXPECT_THAT(Split("\"a\",r,\"b, c\"", ",", true), ElementsAre("a", "r", "b, c"));
  EXPECT_THAT(Split("\"say \"\"hi\"\"\", \"\" ,x", ",", true), ElementsAre("say \"hi\"", "", "x"));
  EXPECT_THAT(Split("\"a\"\t\"\"\"\"\t b", "\t", true), ElementsAre("a", "\"", " b"));
  EXPECT_THAT(Split("\"a\" ||| \"b\"", " ||| ", true), ElementsAre("a", "b"));
  EXPECT_THAT(Split("a 5\" pipe,r,b", ",", true), ElementsAre("a 5\" pipe", "r", "b"));
  EXPECT_THAT(Split("a,b,", ",", true), ElementsAre("a", "b", ""));
  EXPECT_THAT(Split("\"a,r,b", ",", true), ElementsAre("not split"));
  EXPECT_THAT(Split("\"a\"x,r,b", ",", true), ElementsAre("not split"));
  FieldSplitter splitter("\t", true);
  EXPECT_TRUE(splitter.Split("\"a\"\t\"b\"") && splitter.all_quoted());
  EXPECT_TRUE(splitter.Split("\"a\"\tb") && !splitter.all_quoted());
}

TEST(TableLayoutTest, SeparatorByContent) {
  EXPECT_EQ(Find("a\tr\tb\n").separator, "\t");
  EXPECT_EQ(Find("a\tr\tb\n").Describe(), "");
  EXPECT_EQ(Find("a,r,b\nb,r,c\n").separator, ",");
  EXPECT_EQ(Find("a,r,b\nb,r,c\n").Describe(), "3 fields with commas between");
  EXPECT_EQ(Find("a;r;b\nb;r;\"c;d\"\n").separator, ";");
  EXPECT_EQ(Find("a|r|b\n").separator, "|");
  EXPECT_EQ(Find("a r b\nb  r c\n").separator, " ");
  EXPECT_EQ(Find("x_id,relation,y_id,weight\n1,p,2,0.5\n").separator, ",");
  // Not sure: lines differ, words are four, a comment stands first, or there is nothing.
  for (const char* text : {"a,r,b\nb,r\n", "a b c d\n", "# a, b, c\na\tr\tb\n", "words", ""}) {
    EXPECT_EQ(Find(text).separator, "\t") << text;
  }
  TableOptions options;
  options.separator = "::";
  EXPECT_EQ(Find("a::r::b\n", options).separator, "::");
  EXPECT_EQ(Find("a::r::b\n", options).Describe(), "3 fields with \"::\" between");
}

TEST(TableLayoutTest, QuotesByContent) {
  EXPECT_TRUE(Find("\"a\"\t\"r\"\t\"b\"\n\"b\"\t\"r\"\t\"c\"\n").quoted);
  EXPECT_EQ(Find("\"a\"\t\"r\"\t\"b\"\n").Describe(), "fields in quotes, which are left out");
  EXPECT_FALSE(Find("\"a\"\t\"r\"\t\"b\"\n\"b\"\tr\t\"c\"\n").quoted);
  EXPECT_TRUE(Find("a,r,b\n").quoted);
  TableOptions options;
  options.quotes = TableOptions::Quotes::kCsv;
  EXPECT_TRUE(Find("a\tr\tb\n", options).quoted);
  options.quotes = TableOptions::Quotes::kNone;
  EXPECT_FALSE(Find("\"a\"\t\"r\"\t\"b\"\n", options).quoted);
}

TEST(TableLayoutTest, ColumnsByNumberNameOrKgx) {
  TableOptions options;
  options.columns = {"3", "2", "4"};
  TableLayout layout = Find("/a/1\t/r/IsA\t/c/a\t/c/b\t{}\n", options);
  EXPECT_THAT(layout.columns, ElementsAre(2, 1, 3));
  EXPECT_EQ(layout.num_fields, 5);
  EXPECT_FALSE(layout.has_header);
  EXPECT_EQ(layout.Describe(), "5 fields with tabs between; head is column 3, relation column 2, tail column 4");
  options.columns = {"x_id", "relation", "y_id"};
  layout = Find("relation,x_id,y_id,n\np,1,2,3\n", options);
  EXPECT_THAT(layout.columns, ElementsAre(1, 0, 2));
  EXPECT_TRUE(layout.has_header);
  EXPECT_FALSE(layout.is_kgx);
  layout = Find("id\tsubject\tpredicate\tobject\nu\ta\tp\tb\n");
  EXPECT_TRUE(layout.is_kgx && layout.has_header);
  EXPECT_THAT(layout.columns, ElementsAre(1, 2, 3));
  EXPECT_EQ(layout.Describe(), "KGX edges as a table");
  options.columns.clear();
  options.header = TableOptions::Header::kYes;
  EXPECT_EQ(Find("h\tr\tt\na\tr\tb\n", options).Describe(), "line 1 names the columns");
  options.header = TableOptions::Header::kNo;
  EXPECT_FALSE(Find("id\tsubject\tpredicate\tobject\n", options).is_kgx);
}

// PrimeKG's kg.csv: a name with a comma outside quotes keeps commas from being found by their number.
TEST(TableLayoutTest, NamesOfColumnsFindTheSeparator) {
  const std::string uneven = "relation,x_id,x_name,y_id,weight\np,1,a,2,0.5\np,1,b, c,2,0.5\n";
  EXPECT_EQ(Find(uneven).separator, "\t");
  TableOptions options;
  options.columns = {"x_id", "relation", "y_id"};
  TableLayout layout = Find(uneven, options);
  EXPECT_EQ(layout.separator, ",");
  EXPECT_THAT(layout.columns, ElementsAre(1, 0, 3));
  EXPECT_TRUE(layout.quoted && layout.has_header);
  options.columns = {"1", "2", "3"};
  options.weight_column = "weight";
  EXPECT_EQ(Find(uneven, options).weight_column, 4);
  // The tab of a name in quotes does not hide the commas.
  options = {};
  options.columns = {"x_id", "relation", "y_id"};
  EXPECT_EQ(Find("x_id;relation;y_id;\"a\tb\"\n1;p;2;3\n", options).separator, ";");
  options.separator = "\t";
  EXPECT_THAT(FindTableLayout(uneven, true, options), ErrorNames({"\"x_id\"", "--separator"}));
}

TEST(TableLayoutTest, WeightsThatMayBeMissing) {
  TableOptions options;
  options.weight_is_optional = true;
  for (const char* column : {"4", "1", "w"}) {
    options.weight_column = column;
    const TableLayout layout = Find("a\tr\tb\n", options);
    EXPECT_EQ(layout.weight_column, -1) << column;
    EXPECT_FALSE(layout.has_header || layout.columns_given);
  }
  EXPECT_EQ(Find("h\tr\tt\tw\na\tr\tb\t2\n", options).weight_column, 3);
  EXPECT_THAT(FindTableLayout("h\tr\tw\na\tr\t2\n", true, options), ErrorNames({"3 fields", "--columns"}));
  options.weight_column = "4";
  EXPECT_EQ(Find("a\tr\tb\t2\n", options).weight_column, 3);
  // Another number of fields is rather another separator.
  EXPECT_THAT(FindTableLayout("a::r::b\n", true, options), ErrorNames({"1 fields", "--weight_column"}));
  options.columns = {"1", "2", "3"};
  EXPECT_EQ(Find("a\tr\tb\n", options).weight_column, -1);
  EXPECT_EQ(Find("a\tr\tb\t2\tx\n", options).weight_column, 3);
}

TEST(TableLayoutTest, ErrorsNameTheColumn) {
  TableOptions options;
  options.columns = {"1", "2", "4"};
  EXPECT_THAT(FindTableLayout("a\tr\tb\n", true, options),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"1", "3 fields", "column 4", "--separator"}));
  options.columns = {"head", "relation", "tail"};
  EXPECT_THAT(FindTableLayout("h,r,t\n", true, options),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"\"head\"", "h, r, t"}));
  const auto check = [](std::vector<std::string> columns, TableOptions::Header header) {
    TableOptions given;
    given.columns = std::move(columns);
    given.header = header;
    return CheckTableOptions(given);
  };
  using Header = TableOptions::Header;
  EXPECT_TRUE(check({}, Header::kNo).ok());
  EXPECT_TRUE(check({"1", "3", "2"}, Header::kNo).ok());
  EXPECT_TRUE(check({"s", "p", "o"}, Header::kAuto).ok());
  EXPECT_THAT(check({"1", "2"}, Header::kAuto), ErrorNames({"--columns=1,2", "2 columns"}));
  EXPECT_THAT(check({"1", "2", "1"}, Header::kAuto), ErrorNames({"--columns=1,2,1", "twice"}));
  EXPECT_THAT(check({"1", "2", "o"}, Header::kAuto), ErrorNames({"numbers and names"}));
  EXPECT_THAT(check({"0", "1", "2"}, Header::kAuto), ErrorNames({"\"0\""}));
  EXPECT_THAT(check({"s", "", "o"}, Header::kAuto), ErrorNames({"--columns=s,,o"}));
  EXPECT_THAT(check({"s", "p", "o"}, Header::kNo), ErrorNames({"--header=no"}));
}

// A line that may be cut off decides nothing.
TEST(TableLayoutTest, TheLastLineMayBeCutOff) {
  EXPECT_EQ(FindTableLayout("a,r,b\nb,r", /*is_whole=*/false, {})->separator, ",");
  EXPECT_EQ(FindTableLayout("a,r,b\nb,r", /*is_whole=*/true, {})->separator, "\t");
}

}  // namespace
}  // namespace rutile
