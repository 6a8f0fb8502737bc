#include "lib/graph/text/formats/table_layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/graph/text/formats/kg_format.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kSampledLines = 1000;
constexpr size_t kShownColumns = 12;
constexpr char kQuote = '"';

struct Separator {
  absl::string_view text;
  absl::string_view plural;
};
constexpr Separator kTab = {"\t", "tabs"};
constexpr Separator kSpace = {" ", "spaces"};
// Tried in this order if line 1 has no tab.
constexpr Separator kSeparators[] = {{",", "commas"}, {";", "semicolons"}, {"|", "bars"}, kSpace};

std::vector<absl::string_view> SampleLines(absl::string_view text, bool is_whole) {
  std::vector<absl::string_view> lines;
  while (!text.empty() && lines.size() < kSampledLines) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos && !is_whole && !lines.empty()) break;  // the line may be cut off
    const absl::string_view line = absl::StripSuffix(text.substr(0, end), "\r");
    if (!absl::StripAsciiWhitespace(line).empty()) lines.push_back(line);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// Returns the number of fields if all lines have the same, otherwise 0.
size_t CommonFields(const std::vector<absl::string_view>& lines, absl::string_view separator) {
  FieldSplitter splitter(separator, separator != kSpace.text);
  size_t common = 0;
  for (const absl::string_view line : lines) {
    if (!splitter.Split(line)) return 0;
    const size_t n = splitter.fields().size();
    if (common != 0 && n != common) return 0;
    common = n;
  }
  return common;
}

std::string FindSeparator(const std::vector<absl::string_view>& lines) {
  if (lines.empty() || absl::StrContains(lines[0], kTab.text)) return std::string(kTab.text);
  for (const Separator& separator : kSeparators) {
    const size_t n = CommonFields(lines, separator.text);
    // Names may contain spaces, so that lines of words are sure only if they have the right number.
    if (n == 3 || (n > 3 && separator.text != kSpace.text)) return std::string(separator.text);
  }
  return std::string(kTab.text);
}

bool AreAllQuoted(const std::vector<absl::string_view>& lines) {
  FieldSplitter splitter(kTab.text, /*quoted=*/true);
  return !lines.empty() && std::all_of(lines.begin(), lines.end(), [&](absl::string_view line) {
    return splitter.Split(line) && splitter.all_quoted();
  });
}

// Fields are in quotes where content says so, and in tables of CSV's kind.
bool AreQuoted(const std::vector<absl::string_view>& lines, absl::string_view separator, TableOptions::Quotes quotes) {
  if (quotes != TableOptions::Quotes::kAuto) return quotes == TableOptions::Quotes::kCsv;
  return separator == kTab.text ? AreAllQuoted(lines) : separator != kSpace.text;
}

// Returns the separator by content; of those with which line 1 has all columns that the options name, if any has.
std::string SeparatorOf(const std::vector<absl::string_view>& lines, const TableOptions& options) {
  std::vector<std::string> separators = {FindSeparator(lines)};
  std::vector<absl::string_view> names;
  for (const std::string& column : options.columns) {
    if (!IsCount(column)) names.push_back(column);
  }
  if (!options.weight_is_optional && !options.weight_column.empty() && !IsCount(options.weight_column)) {
    names.push_back(options.weight_column);
  }
  if (names.empty() || lines.empty()) return separators[0];
  separators.emplace_back(kTab.text);
  for (const Separator& separator : kSeparators) separators.emplace_back(separator.text);
  for (const std::string& separator : separators) {
    FieldSplitter splitter(separator, AreQuoted(lines, separator, options.quotes));
    splitter.Split(lines[0]);
    const std::vector<absl::string_view>& fields = splitter.fields();
    const auto is_there = [&](absl::string_view name) {
      return std::find(fields.begin(), fields.end(), name) != fields.end();
    };
    if (std::all_of(names.begin(), names.end(), is_there)) return separator;
  }
  return separators[0];
}

std::string ShowColumns(const std::vector<std::string>& names) {
  const size_t n = std::min(names.size(), kShownColumns);
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + n, ", "), n < names.size() ? ", ..." : "");
}

// Some programs write "#" before the first name.
int FindKgxColumn(const std::vector<std::string>& names, absl::string_view name) {
  const int column = FindColumn(names, name);
  return column >= 0 ? column : FindColumn(names, absl::StrCat("#", name));
}

}  // namespace

int FindColumn(const std::vector<std::string>& names, absl::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

namespace {

// Finds the column of weights, after those of head, relation and tail if they are given.
absl::Status FindWeightColumn(const std::vector<std::string>& first, const TableOptions& options, TableLayout* layout) {
  const int num_fields = static_cast<int>(first.size());
  int column = 0;
  if (options.weight_is_optional && (layout->columns_given || num_fields == 3)) {
    // Three fields hold a triple, and no weight.
    const bool is_there =
        !IsCount(options.weight_column)
            ? FindColumn(first, options.weight_column) >= 0
            : layout->columns_given && absl::SimpleAtoi(options.weight_column, &column) && column <= num_fields;
    if (!is_there) return absl::OkStatus();
  }
  if (!IsCount(options.weight_column)) {
    column = FindColumn(first, options.weight_column);
    if (column < 0) {
      return absl::InvalidArgumentError(absl::StrCat("1: no column ", JsonQuote(options.weight_column),
                                                     " of --weight_column; line 1 names ", ShowColumns(first),
                                                     "; is the separator right (--separator)?"));
    }
  } else if (!absl::SimpleAtoi(options.weight_column, &column) || --column >= num_fields) {
    return absl::InvalidArgumentError(absl::StrCat("1: ", num_fields, " fields, but --weight_column is column ",
                                                   options.weight_column, "; is the separator right (--separator)?"));
  }
  layout->weight_column = column;
  if (!layout->columns_given) {
    if (num_fields != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("1: ", num_fields, " fields, expected head, relation, tail and the weight of --weight_column; ",
                       "--columns says which columns hold the first three, as in --columns=1,2,3"));
    }
    layout->columns_given = true;
    for (int field = 0, i = 0; field < 4; ++field) {
      if (field != column) layout->columns[i++] = field;
    }
  }
  for (const int used : layout->columns) {
    if (used != column) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("1: --weight_column is column ", column + 1, ", which holds head, relation or tail (--columns)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTableOptions(const TableOptions& options) {
  const std::vector<std::string>& columns = options.columns;
  if (IsCount(options.weight_column)) {
    int number = 0;
    if (!absl::SimpleAtoi(options.weight_column, &number) || number < 1) {
      return absl::InvalidArgumentError(absl::StrCat("--weight_column=", options.weight_column,
                                                     " is no column, expected a number from 1, or a name in line 1"));
    }
  } else if (!options.weight_column.empty() && options.header == TableOptions::Header::kNo) {
    return absl::InvalidArgumentError(
        absl::StrCat("--weight_column=", options.weight_column, ": the name of a column contradicts --header=no"));
  }
  if (columns.empty()) return absl::OkStatus();
  const std::string value = absl::StrCat("--columns=", absl::StrJoin(columns, ","));
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(value, ": ", what,
                                                   ", expected the columns of head, relation and tail, as in "
                                                   "--columns=1,2,3 or --columns=subject,predicate,object"));
  };
  if (columns.size() != 3) return error(absl::StrCat(columns.size(), " columns"));
  if (columns[0] == columns[1] || columns[0] == columns[2] || columns[1] == columns[2]) {
    return error("a column comes twice");
  }
  const size_t num_counts = std::count_if(columns.begin(), columns.end(), IsCount);
  if (num_counts != 0 && num_counts != 3) return error("numbers and names");
  for (const std::string& column : columns) {
    int number = 0;
    if (column.empty() || (num_counts == 3 && (!absl::SimpleAtoi(column, &number) || number < 1))) {
      return error(absl::StrCat(JsonQuote(column), " is no column"));
    }
  }
  if (num_counts == 0 && options.header == TableOptions::Header::kNo) {
    return error("names of columns contradict --header=no");
  }
  return absl::OkStatus();
}

std::string TableLayout::Describe() const {
  std::string text;
  if (is_kgx) text = "KGX edges as a table";
  std::string between = JsonQuote(separator);
  for (const Separator& known : kSeparators) {
    if (separator == known.text) between = std::string(known.plural);
  }
  if (separator == kTab.text) between = std::string(kTab.plural);
  if (!is_kgx && (separator != kTab.text || columns_given)) {
    text = absl::StrCat(num_fields, " fields with ", between, " between");
  }
  if (quoted && separator == kTab.text) {
    absl::StrAppend(&text, text.empty() ? "fields in quotes, which are left out" : ", in quotes, which are left out");
  }
  if (columns_given && !is_kgx) {
    const auto name = [&](int column) { return names.empty() ? absl::StrCat("column ", column + 1) : names[column]; };
    absl::StrAppend(&text, "; head is ", name(columns[0]), ", relation ", name(columns[1]), ", tail ", name(columns[2]),
                    weight_column < 0 ? "" : absl::StrCat(", weight ", name(weight_column)));
  } else if (has_header && !is_kgx) {
    absl::StrAppend(&text, text.empty() ? "line 1 names the columns" : "; line 1 names the columns");
  }
  return text;
}

absl::StatusOr<TableLayout> FindTableLayout(absl::string_view beginning, bool is_whole, const TableOptions& options) {
  const std::vector<absl::string_view> lines = SampleLines(beginning, is_whole);
  TableLayout layout;
  layout.separator = options.separator.empty() ? SeparatorOf(lines, options) : options.separator;
  layout.quoted = AreQuoted(lines, layout.separator, options.quotes);
  if (lines.empty()) return layout;
  FieldSplitter splitter(layout.separator, layout.quoted);
  splitter.Split(lines[0]);  // a quote that does not end is reported as the line is read
  const std::vector<std::string> first(splitter.fields().begin(), splitter.fields().end());
  const bool columns_are_named = !options.columns.empty() && !IsCount(options.columns[0]);
  const bool weight_is_named = !options.weight_column.empty() && !IsCount(options.weight_column) &&
                               !(options.weight_is_optional && FindColumn(first, options.weight_column) < 0);
  layout.has_header = options.header == TableOptions::Header::kYes || columns_are_named || weight_is_named;
  if (options.columns.empty() && options.header != TableOptions::Header::kNo && first.size() > 3) {
    const int subject = FindKgxColumn(first, "subject"), predicate = FindKgxColumn(first, "predicate"),
              object = FindKgxColumn(first, "object");
    if (subject >= 0 && predicate >= 0 && object >= 0) {
      layout.is_kgx = layout.has_header = layout.columns_given = true;
      layout.columns = {subject, predicate, object};
    }
  }
  if (layout.has_header) layout.names = first;
  if (!options.columns.empty()) {
    layout.columns_given = true;
    for (int i = 0; i < 3; ++i) {
      const std::string& column = options.columns[i];
      int number = 0;
      if (columns_are_named) {
        number = FindColumn(first, column);
        if (number < 0) {
          return absl::InvalidArgumentError(absl::StrCat("1: no column ", JsonQuote(column),
                                                         " of --columns; line 1 names ", ShowColumns(first),
                                                         "; is the separator right (--separator)?"));
        }
      } else if (!absl::SimpleAtoi(column, &number) || --number >= static_cast<int>(first.size())) {
        return absl::InvalidArgumentError(absl::StrCat("1: ", first.size(), " fields, but --columns names column ",
                                                       column, "; is the separator right (--separator)?"));
      }
      layout.columns[i] = number;
    }
  }
  if (!options.weight_column.empty()) RETURN_IF_ERROR(FindWeightColumn(first, options, &layout));
  if (layout.columns_given) layout.num_fields = static_cast<int>(first.size());
  return layout;
}

FieldSplitter::FieldSplitter(absl::string_view separator, bool quoted) : quoted_(quoted) {
  // Blanks around fields are removed, so those around a separator need not match.
  const absl::string_view stripped = absl::StripAsciiWhitespace(separator);
  separator_ = std::string(stripped.empty() ? separator : stripped);
}

bool FieldSplitter::Split(absl::string_view line) {
  fields_.clear();
  num_quoted_ = 0;
  if (separator_ == kSpace.text) {
    for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      fields_.push_back(word);
    }
    return true;
  }
  if (quoted_) return SplitQuoted(line);
  for (absl::string_view field : absl::StrSplit(line, separator_)) {
    fields_.push_back(separator_ == kTab.text ? field : absl::StripAsciiWhitespace(field));
  }
  return true;
}

bool FieldSplitter::SplitQuoted(absl::string_view line) {
  // Fields with doubled quotes are copied; the copies must not move while the line's fields are in use.
  unquoted_.clear();
  unquoted_.reserve(std::count(line.begin(), line.end(), kQuote));
  const bool strips = separator_ != kTab.text;
  while (true) {
    if (strips) line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::StartsWith(line, "\"")) {
      const size_t end = line.find(separator_);
      const absl::string_view field = line.substr(0, end);
      fields_.push_back(strips ? absl::StripTrailingAsciiWhitespace(field) : field);
      if (end == absl::string_view::npos) return true;
      line.remove_prefix(end + separator_.size());
      continue;
    }
    line.remove_prefix(1);
    size_t end = line.find(kQuote);
    std::string content;
    bool is_copied = false;
    while (end != absl::string_view::npos && end + 1 < line.size() && line[end + 1] == kQuote) {
      absl::StrAppend(&content, line.substr(0, end + 1));
      is_copied = true;
      line.remove_prefix(end + 2);
      end = line.find(kQuote);
    }
    if (end == absl::string_view::npos) return false;
    if (is_copied) {
      absl::StrAppend(&content, line.substr(0, end));
      unquoted_.push_back(std::move(content));
      fields_.push_back(unquoted_.back());
    } else {
      fields_.push_back(line.substr(0, end));
    }
    ++num_quoted_;
    line.remove_prefix(end + 1);
    if (strips) line = absl::StripLeadingAsciiWhitespace(line);
    if (line.empty()) return true;
    if (!absl::StartsWith(line, separator_)) return false;
    line.remove_prefix(separator_.size());
  }
}

}  // namespace rutile
