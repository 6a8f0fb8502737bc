// Counts what is wrong with data.

#ifndef RUTILE_LIB_GRAPH_TEXT_FINDING_H_
#define RUTILE_LIB_GRAPH_TEXT_FINDING_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A kind of error in data: how often it occurs, and where first.
struct Finding {
  int64_t count = 0;
  std::string first;  // "train.txt:17: 2 fields in ..."

  void Add(absl::string_view place, absl::string_view what) {
    if (count++ == 0) first = absl::StrCat(place, ": ", what);
  }
  void Add(const Finding& more) {
    if (count == 0) first = more.first;
    count += more.count;
  }
};

// What to do with wrong data: return an error, leave it out, or keep it.
enum class Handling { kRefuse, kDrop, kKeep };

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FINDING_H_
