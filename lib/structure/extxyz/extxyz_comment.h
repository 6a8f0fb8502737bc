// Parses the second line of an extended XYZ frame: key=value pairs.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COMMENT_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COMMENT_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// The pairs in the order of the line. A bare key has the value "T". The views point into the line or into this object,
// and are valid until the next Parse.
class ExtxyzComment {
 public:
  // Parses a line. Keys and values are words, or quoted with ' or " (in which \" \' \\ \n are escapes), or in {} or []
  // (nested). Quotes and braces are removed, brackets are kept. Blanks around = are allowed. A value that ASE wrote as
  // "_JSON 1.5", "_JSON \"bulk\"" or "_JSON [[1, 2], [3, 4]]" is that number, text or list. INVALID_ARGUMENT, whose
  // message gives no file or line: a quote or bracket that is not closed, = without a key or value.
  absl::Status Parse(absl::string_view line);

  void Clear() {
    pairs_.clear();
    unescaped_.clear();
  }

  const std::vector<std::pair<absl::string_view, absl::string_view>>& pairs() const { return pairs_; }

 private:
  absl::Status ParseItem(const char** p, const char* end, bool is_key, absl::string_view* item);

  std::vector<std::pair<absl::string_view, absl::string_view>> pairs_;
  std::deque<std::string> unescaped_;  // a deque, because views into it must stay valid as it grows
};

// Parses a list of numbers: "1 2 3", "1,2,3", "[1, 2, 3]", "[[1, 2], [3, 4]]". Returns how many there are, at most
// `out.size()`, or INVALID_ARGUMENT that names the word that is no number, or says that there are too many.
absl::StatusOr<int> ParseNumberList(absl::string_view text, absl::Span<double> out);

// Parses three flags: "T F T", "1 0 1", "[true, false, true]", "TFT"; false for other text. A single value sets all
// three.
bool ParseThreeFlags(absl::string_view text, bool* out);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_EXTXYZ_COMMENT_H_
