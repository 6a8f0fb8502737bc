#include "lib/graph/text/formats/id_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/text/formats/kg_format.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr int64_t kMaxNames = std::numeric_limits<int32_t>::max();
constexpr char kExpected[] = "expected a name and an index with a tab between";

// A line, split at its first and at its last separator; the position of the index decides which split counts.
struct Row {
  int64_t line = 0;
  std::string text;
  size_t first = 0, last = 0;

  absl::string_view head() const { return absl::string_view(text).substr(0, first); }
  absl::string_view tail() const { return absl::string_view(text).substr(last + 1); }
};

struct Rows {
  std::string path;
  std::vector<Row> rows;
  int64_t count = -1;  // count in the first line

  absl::Status Error(int64_t line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
  }
};

absl::StatusOr<Rows> ReadRows(LineReader lines) {
  Rows result;
  result.path = lines.path();
  bool is_first = true;
  for (absl::string_view line; lines.Next(&line);) {
    const absl::string_view word = absl::StripAsciiWhitespace(line);
    if (word.empty()) continue;
    if (is_first) {
      is_first = false;
      if (line == "id\tlabel" || line == "label\tid") continue;
      if (IsCount(word)) {
        if (!absl::SimpleAtoi(word, &result.count)) {
          return result.Error(lines.line_number(), absl::StrCat(word, " is no number of lines below 2^63"));
        }
        continue;
      }
    }
    Row row;
    row.line = lines.line_number();
    const char* const separators = result.count >= 0 && line.find('\t') == absl::string_view::npos ? " " : "\t";
    row.first = line.find_first_of(separators);
    row.last = line.find_last_of(separators);
    if (row.first == absl::string_view::npos || row.first == 0 || row.last + 1 == line.size()) {
      return result.Error(row.line, absl::StrCat(JsonQuote(line), ", ", kExpected));
    }
    if (!IsUtf8(line)) return result.Error(row.line, "text that is not UTF-8, expected names in UTF-8");
    row.text = std::string(line);
    result.rows.push_back(std::move(row));
  }
  RETURN_IF_ERROR(lines.status());
  const int64_t num_rows = static_cast<int64_t>(result.rows.size());
  if (num_rows == 0) return absl::InvalidArgumentError(absl::StrCat(result.path, ": has no names, ", kExpected));
  if (num_rows > kMaxNames) {
    return absl::InvalidArgumentError(
        absl::StrCat(result.path, ": ", num_rows, " names, but ids are 32-bit integers: at most ", kMaxNames));
  }
  if (result.count >= 0 && result.count != num_rows) {
    return absl::InvalidArgumentError(absl::StrCat(result.path, ": its first line counts ", result.count,
                                                   " names, but ", num_rows,
                                                   " lines follow; the file is cut off or joined"));
  }
  return result;
}

// True if the column (the last fields, or the first) contains 0 .. n - 1, each once.
bool IsPermutation(const Rows& rows, bool reversed) {
  std::vector<bool> seen(rows.rows.size(), false);
  for (const Row& row : rows.rows) {
    int64_t index;
    if (!absl::SimpleAtoi(reversed ? row.head() : row.tail(), &index)) return false;
    if (index < 0 || index >= static_cast<int64_t>(seen.size()) || seen[index]) return false;
    seen[index] = true;
  }
  return true;
}

bool IsReversed(const Rows& rows) {
  const bool first =
      std::all_of(rows.rows.begin(), rows.rows.end(), [](const Row& row) { return IsCount(row.head()); });
  const bool last = std::all_of(rows.rows.begin(), rows.rows.end(), [](const Row& row) { return IsCount(row.tail()); });
  if (first && last) return !IsPermutation(rows, false) && IsPermutation(rows, true);
  // If neither does, the column with more numbers is taken, so that the message is about the wrong lines and not about
  // all.
  if (!first && !last) {
    int64_t more = 0;
    for (const Row& row : rows.rows) more += int{IsCount(row.head())} - int{IsCount(row.tail())};
    return more > 0;
  }
  return first;
}

// Fills names[index] of all rows. unique: no name may be repeated or contain a separator.
absl::Status Fill(const Rows& rows, bool unique, IdFile* file) {
  std::vector<int64_t> lines(file->names.size(), 0);  // line of each index
  absl::flat_hash_map<absl::string_view, int64_t> named;
  if (unique) named.reserve(rows.rows.size());
  const int64_t num_ids = static_cast<int64_t>(file->names.size());
  for (const Row& row : rows.rows) {
    const absl::string_view digits = file->reversed ? row.head() : row.tail();
    const absl::string_view name = file->reversed ? absl::string_view(row.text).substr(row.first + 1)
                                                  : absl::string_view(row.text).substr(0, row.last);
    if (unique && row.first != row.last) {
      return rows.Error(row.line, absl::StrCat("more than two fields in ", JsonQuote(row.text), ", ", kExpected));
    }
    int64_t index = 0;
    if (!IsCount(digits) || !absl::SimpleAtoi(digits, &index)) {
      return rows.Error(row.line, absl::StrCat(JsonQuote(digits), " is no index, ", kExpected));
    }
    if (index >= num_ids) {
      return rows.Error(
          row.line,
          unique ? absl::StrCat("index ", index, " of ", num_ids, " names, expected 0 .. ", num_ids - 1, ", each once")
                 : absl::StrCat("index ", index, ", but there are ", num_ids, " entities, 0 .. ", num_ids - 1));
    }
    if (lines[index] != 0) {
      return rows.Error(row.line, absl::StrCat("index ", index, " is used twice: line ", lines[index], " gives it to ",
                                               JsonQuote(file->names[index])));
    }
    if (unique) {
      const auto [known, is_new] = named.emplace(name, row.line);
      if (!is_new) {
        return rows.Error(row.line,
                          absl::StrCat("the name ", JsonQuote(name), " comes twice: line ", known->second, " has it"));
      }
    }
    lines[index] = row.line;
    file->names[index] = std::string(name);
  }
  return absl::OkStatus();
}

// If an index is too large, another one is missing: the message also names that.
absl::Status NameHole(const Rows& rows, bool reversed, const absl::Status& status) {
  std::vector<bool> seen(rows.rows.size(), false);
  for (const Row& row : rows.rows) {
    int64_t index;
    if (!absl::SimpleAtoi(reversed ? row.head() : row.tail(), &index)) return status;
    if (index < 0) return status;
    if (index < static_cast<int64_t>(seen.size())) seen[index] = true;
  }
  const auto hole = std::find(seen.begin(), seen.end(), false);
  if (hole == seen.end()) return status;
  return absl::InvalidArgumentError(absl::StrCat(status.message(), "; no line has ", hole - seen.begin()));
}

absl::StatusOr<IdFile> Decode(LineReader lines) {
  ASSIGN_OR_RETURN(const Rows rows, ReadRows(std::move(lines)));
  IdFile file;
  file.counted = rows.count >= 0;
  file.reversed = IsReversed(rows);
  file.names.resize(rows.rows.size());
  if (absl::Status status = Fill(rows, /*unique=*/true, &file); !status.ok()) {
    return NameHole(rows, file.reversed, status);
  }
  return file;
}

}  // namespace

std::string IdFile::Describe(absl::string_view path) const {
  return absl::StrCat(path, ": ", names.size(), " names, ", counted ? "a count and then " : "",
                      reversed ? "index and name" : "name and index", counted ? " (as OpenKE writes)" : "");
}

absl::StatusOr<IdFile> ReadIdFile(absl::string_view path) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  return Decode(std::move(lines));
}

absl::StatusOr<IdFile> ParseIdFile(absl::string_view path, std::string bytes) {
  return Decode(LineReader::FromBytes(path, std::move(bytes)));
}

absl::StatusOr<IdFile> ReadLabelFile(absl::string_view path, int64_t num_ids) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  ASSIGN_OR_RETURN(const Rows rows, ReadRows(std::move(lines)));
  IdFile file;
  file.counted = rows.count >= 0;
  file.reversed = IsReversed(rows);
  file.names.resize(num_ids);
  RETURN_IF_ERROR(Fill(rows, /*unique=*/false, &file));
  return file;
}

}  // namespace rutile
