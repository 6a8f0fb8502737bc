// Says how the lines of a table are cut into head, relation and tail: separator, quotes, columns, a header line.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_LAYOUT_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_LAYOUT_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// What a user says of tables; what is left open is decided by content.
struct TableOptions {
  enum class Header { kAuto, kYes, kNo };
  enum class Quotes { kAuto, kCsv, kNone };

  std::string separator;             // between fields; "" is open, " " is any run of blanks
  std::vector<std::string> columns;  // of head, relation, tail: numbers from 1, or names in the header; {} is open
  std::string weight_column;  // of the triple's weight: a number from 1, or a name in the header; "": there is none
  bool weight_is_optional = false;  // a table of triples without that column has weights of 1
  Header header = Header::kAuto;    // whether line 1 names the columns
  Quotes quotes = Quotes::kAuto;    // whether quotation marks around a field are part of it (kNone)

  bool is_default() const {
    return separator.empty() && columns.empty() && weight_column.empty() && header == Header::kAuto &&
           quotes == Quotes::kAuto;
  }
};

// Checks options. INVALID_ARGUMENT naming the flag: not three different columns, names of columns without a header, a
// weight in a column of another use.
absl::Status CheckTableOptions(const TableOptions& options);

// How to read the lines of one file.
struct TableLayout {
  std::string separator = "\t";
  bool quoted = false;         // fields may be in quotes, as in CSV (RFC 4180)
  bool has_header = false;     // line 1 is no data
  bool is_kgx = false;         // KGX's edges.tsv: the header names subject, predicate and object
  bool columns_given = false;  // by the user or the header; otherwise lines must have three fields
  std::array<int, 3> columns = {0, 1, 2};
  int weight_column = -1;
  std::vector<std::string> names;  // of the columns, if there is a header
  int num_fields = 3;              // of every line

  // Describes the layout for the report, "" for three fields with tabs between: "3 fields with commas between".
  std::string Describe() const;
};

// Decides the layout of a file. With a weight in one of four columns, the three others are head, relation and tail.
// beginning: the first bytes of the file; is_whole: false if the last line may be cut off. Line 1 decides, except that
// a separator other than the tab must give all lines of the beginning the same number of fields, unless it alone gives
// line 1 the names of the options, and quotes around fields with tabs between count as quotes if all fields have them.
// INVALID_ARGUMENT without a path, but with the line: the header has no such column, or line 1 has too few.
absl::StatusOr<TableLayout> FindTableLayout(absl::string_view beginning, bool is_whole, const TableOptions& options);

// Cuts lines into fields.
class FieldSplitter {
 public:
  FieldSplitter(absl::string_view separator, bool quoted);

  // Sets fields(), valid until the next call and as long as the line. False if quotes do not end in the line or text
  // follows them. Blanks around a field count as part of it only between tabs.
  bool Split(absl::string_view line);
  const std::vector<absl::string_view>& fields() const { return fields_; }
  // True if every field of the last line was in quotes.
  bool all_quoted() const { return num_quoted_ > 0 && num_quoted_ == fields_.size(); }

 private:
  bool SplitQuoted(absl::string_view line);

  std::string separator_;
  bool quoted_;
  std::vector<absl::string_view> fields_;
  std::vector<std::string> unquoted_;  // contents of fields with quotes in them
  size_t num_quoted_ = 0;
};

// Returns the field's position among the names, or -1.
int FindColumn(const std::vector<std::string>& names, absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_LAYOUT_H_
