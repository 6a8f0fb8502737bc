#include "lib/structure/extxyz/extxyz_comment.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

bool IsListSeparator(char c) { return IsBlank(c) || c == ',' || c == '[' || c == ']' || c == '{' || c == '}'; }

// Returns the next word of a list; empty at the end.
absl::string_view NextListWord(const char** p, const char* end) {
  const char* begin = *p;
  while (begin != end && IsListSeparator(*begin)) ++begin;
  const char* q = begin;
  while (q != end && !IsListSeparator(*q)) ++q;
  *p = q;
  return absl::string_view(begin, q - begin);
}

// Returns what an ASE value "_JSON ..." holds, for numbers, texts and lists; other values, and objects, as they are.
absl::string_view WithoutJsonMark(absl::string_view value) {
  constexpr absl::string_view kMark = "_JSON ";
  if (!absl::StartsWith(value, kMark)) return value;
  const absl::string_view json = absl::StripAsciiWhitespace(value.substr(kMark.size()));
  if (json.empty() || json[0] == '{') return value;
  const bool is_text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return is_text ? json.substr(1, json.size() - 2) : json;
}

}  // namespace

absl::Status ExtxyzComment::Parse(absl::string_view line) {
  Clear();
  const char* p = line.data();
  const char* const end = p + line.size();
  while ((p = SkipBlanks(p, end)) != end) {
    if (*p == '=') {
      return absl::InvalidArgumentError(
          absl::StrCat("no key before ", Quoted(absl::string_view(p, end - p)), ", expected key=value"));
    }
    absl::string_view key;
    absl::string_view value = "T";
    RETURN_IF_ERROR(ParseItem(&p, end, true, &key));
    const char* const after = SkipBlanks(p, end);
    if (after != end && *after == '=') {
      p = SkipBlanks(after + 1, end);
      if (p == end) return absl::InvalidArgumentError(absl::StrCat("no value behind ", Quoted(key), "="));
      RETURN_IF_ERROR(ParseItem(&p, end, false, &value));
      value = WithoutJsonMark(value);
    }
    pairs_.emplace_back(key, value);
  }
  return absl::OkStatus();
}

absl::Status ExtxyzComment::ParseItem(const char** p, const char* end, bool is_key, absl::string_view* item) {
  const char* const begin = *p;
  const char* q = begin;
  if (*begin == '"' || *begin == '\'') {
    bool escaped = false;
    for (q = begin + 1; q != end && *q != *begin; ++q) {
      if (*q != '\\' || q + 1 == end) continue;
      escaped = true;
      ++q;
    }
    if (q == end) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(absl::string_view(begin, end - begin)),
                                                     " has no closing quote, expected ", std::string(1, *begin)));
    }
    *p = q + 1;
    *item = absl::string_view(begin + 1, q - begin - 1);
    if (!escaped) return absl::OkStatus();
    std::string& plain = unescaped_.emplace_back();
    for (const char* c = begin + 1; c != q; ++c) {
      if (*c == '\\') {
        ++c;  // never the last character, because a quote follows
        plain.push_back(*c == 'n' ? '\n' : *c);
      } else {
        plain.push_back(*c);
      }
    }
    *item = plain;
    return absl::OkStatus();
  }
  if (*begin == '{' || *begin == '[') {
    const char open = *begin;
    const char close = open == '{' ? '}' : ']';
    int64_t depth = 0;
    for (q = begin; q != end; ++q) {
      if (*q == open) ++depth;
      if (*q == close && --depth == 0) break;
    }
    if (q == end) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(absl::string_view(begin, end - begin)),
                                                     " is not closed, expected ", std::string(1, close)));
    }
    *p = q + 1;
    *item = open == '{' ? absl::string_view(begin + 1, q - begin - 1) : absl::string_view(begin, q + 1 - begin);
    return absl::OkStatus();
  }
  while (q != end && !IsBlank(*q) && !(is_key && *q == '=')) ++q;
  *p = q;
  *item = absl::string_view(begin, q - begin);
  return absl::OkStatus();
}

absl::StatusOr<int> ParseNumberList(absl::string_view text, absl::Span<double> out) {
  const char* p = text.data();
  const char* const end = p + text.size();
  int count = 0;
  for (absl::string_view word = NextListWord(&p, end); !word.empty(); word = NextListWord(&p, end)) {
    if (count == static_cast<int>(out.size())) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", count, " numbers"));
    }
    const char* const word_end = word.data() + word.size();
    if (ParseDouble(word.data(), word_end, &out[count]) != word_end) {
      return absl::InvalidArgumentError(WhyNoNumber(word));
    }
    ++count;
  }
  return count;
}

bool ParseThreeFlags(absl::string_view text, bool* out) {
  const auto parse = [](absl::string_view word, bool* flag) {
    const bool yes = word == "T" || word == "1" || word == "t" || word == "True" || word == "true" || word == "TRUE";
    const bool no = word == "F" || word == "0" || word == "f" || word == "False" || word == "false" || word == "FALSE";
    *flag = yes;
    return yes || no;
  };
  const char* p = text.data();
  const char* const end = p + text.size();
  const absl::string_view first = NextListWord(&p, end);
  if (first.size() == 3 && NextListWord(&p, end).empty()) {  // "TTF"
    return parse(first.substr(0, 1), &out[0]) && parse(first.substr(1, 1), &out[1]) && parse(first.substr(2), &out[2]);
  }
  p = text.data();
  int count = 0;
  for (absl::string_view word = NextListWord(&p, end); !word.empty(); word = NextListWord(&p, end)) {
    if (count == 3 || !parse(word, &out[count])) return false;
    ++count;
  }
  if (count == 1) out[1] = out[2] = out[0];
  return count == 1 || count == 3;
}

}  // namespace rutile
