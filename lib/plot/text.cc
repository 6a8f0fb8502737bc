#include "lib/plot/text.h"

#include <cstddef>
#include <cstdint>

namespace rutile {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD
constexpr char kEllipsis[] = "\xE2\x80\xA6";

// Returns the length of the UTF-8 sequence at the start of `text`, with its code point; 0 if it is invalid (overlong
// forms, surrogates and numbers above 10FFFF are invalid).
size_t DecodeUtf8(absl::string_view text, uint32_t* code_point) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  size_t length;
  uint32_t smallest;
  if (lead < 0x80) {
    *code_point = lead;
    return 1;
  } else if (lead >= 0xC0 && lead < 0xE0) {
    length = 2, smallest = 0x80, *code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3, smallest = 0x800, *code_point = lead & 0x0F;
  } else if (lead >= 0xF0 && lead < 0xF8) {
    length = 4, smallest = 0x10000, *code_point = lead & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    *code_point = *code_point << 6 | (byte(i) & 0x3F);
  }
  const bool surrogate = *code_point >= 0xD800 && *code_point < 0xE000;
  return *code_point < smallest || *code_point > 0x10FFFF || surrogate ? 0 : length;
}

// XML 1.0 also forbids the two non-characters of the basic plane.
bool IsControl(uint32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF; }

}  // namespace

std::string CleanText(absl::string_view text, bool keep_lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    uint32_t c = 0;
    const size_t length = DecodeUtf8(text, &c);
    if (length == 0) {
      result += kReplacement;
    } else if (keep_lines && (c == '\n' || c == '\t')) {
      result += static_cast<char>(c);
    } else if (IsControl(c)) {
      result += ' ';
    } else {
      result.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string ShortText(absl::string_view text, int max_length) {
  std::string clean = CleanText(text);
  int characters = 0;
  size_t cut = 0;  // position of character number max_length
  for (size_t i = 0; i < clean.size(); ++i) {
    if ((clean[i] & 0xC0) == 0x80) continue;
    if (++characters == max_length) cut = i;
    if (characters > max_length) {
      clean.resize(cut);
      return clean + kEllipsis;
    }
  }
  return clean;
}

std::string EscapeXml(absl::string_view text, bool keep_lines) {
  std::string result;
  for (const char c : CleanText(text, keep_lines)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace rutile
