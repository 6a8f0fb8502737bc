#include "lib/base/printable_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr absl::string_view kLeftOut = "...";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns the length of the UTF-8 sequence at the start of `text` and its code point, or 0 if there is none.
size_t DecodeUtf8(absl::string_view text, uint32_t* code) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  *code = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
    *code = *code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *code >= 0xD800 && *code < 0xE000;
  return *code < kSmallest[length] || *code > 0x10FFFF || surrogate ? 0 : length;
}

bool IsControl(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return true;
  // Marks, embeddings, overrides and isolates of the direction of writing; line and paragraph separators.
  return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// Returns the text without its middle if it is longer than `longest` bytes. Characters of UTF-8 stay whole.
std::string WithoutMiddle(absl::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  const size_t kept = longest - kLeftOut.size();
  size_t head = kept / 2, tail = text.size() - (kept - kept / 2);
  while (head > 0 && IsContinuation(text[head])) --head;
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return absl::StrCat(text.substr(0, head), kLeftOut, text.substr(tail));
}

}  // namespace

std::string EscapeControls(absl::string_view text) {
  // Nearly all text is plain, and tables have a cell for each prediction.
  if (std::all_of(text.begin(), text.end(), absl::ascii_isprint)) return std::string(text);
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = DecodeUtf8(text, &code);
    const size_t taken = length == 0 ? 1 : length;
    if (length > 0 && !IsControl(code)) {
      absl::StrAppend(&escaped, text.substr(0, taken));
    } else if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
      absl::StrAppend(&escaped, text[0] == '\t' ? "\\t" : text[0] == '\n' ? "\\n" : "\\r");
    } else {
      for (const char c : text.substr(0, taken)) {
        absl::StrAppend(&escaped, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
      }
    }
    text.remove_prefix(taken);
  }
  return escaped;
}

std::string PrintableText(absl::string_view text) { return WithoutMiddle(EscapeControls(text), kLongestShownText); }

std::string PrintableMessage(absl::string_view message) {
  const std::string escaped = EscapeControls(message);
  std::string printable;
  absl::string_view rest = escaped;
  while (!rest.empty()) {
    const size_t blank = rest.find(' ');
    const absl::string_view word = rest.substr(0, blank);
    absl::StrAppend(&printable, WithoutMiddle(word, kLongestShownText), blank == absl::string_view::npos ? "" : " ");
    rest.remove_prefix(blank == absl::string_view::npos ? rest.size() : blank + 1);
  }
  return WithoutMiddle(printable, kLongestMessage);
}

}  // namespace rutile
