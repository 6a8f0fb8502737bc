// The second line of an extended XYZ frame: key=value pairs.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_COMMENT_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_COMMENT_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Pairs in the order of the line. A bare key has the value "T". Views are into the line, or into what this object
// holds, until the next Parse.
class ExtxyzComment {
 public:
  // Keys and values are words, or quoted with ' or " (where \" \' \\ \n stand for characters), or in {} or [] (nested).
  // The quotes and braces are taken off, brackets are kept. Blanks around = are allowed. INVALID_ARGUMENT without a
  // place: a quote or bracket that is not closed, = without a key or value.
  absl::Status Parse(absl::string_view line);

  void Clear() {
    pairs_.clear();
    unescaped_.clear();
  }

  const std::vector<std::pair<absl::string_view, absl::string_view>>& pairs() const { return pairs_; }

 private:
  absl::Status ParseItem(const char** p, const char* end, bool is_key, absl::string_view* item);

  std::vector<std::pair<absl::string_view, absl::string_view>> pairs_;
  std::deque<std::string> unescaped_;  // stays in place when it grows
};

// "1 2 3", "1,2,3", "[1, 2, 3]", "[[1, 2], [3, 4]]": all numbers, up to `out.size()`. How many there were, or
// INVALID_ARGUMENT that names the word which is none, or says that there are too many.
absl::StatusOr<int> ParseNumberList(absl::string_view text, absl::Span<double> out);

// "T F T", "1 0 1", "[true, false, true]", "TFT"; false when it is none of these. One value stands for all three.
bool ParseThreeFlags(absl::string_view text, bool* out);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_COMMENT_H_
