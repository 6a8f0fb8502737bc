#include "lib/graph/text/shown_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kShown = 60;

}  // namespace

std::string ShownText(absl::string_view text) {
  if (text.size() <= kShown) return JsonQuote(text);
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(JsonQuote(text.substr(0, end)), "...");
}

}  // namespace rutile
