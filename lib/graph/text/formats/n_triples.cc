#include "lib/graph/text/formats/n_triples.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr uint32_t kLastCodePoint = 0x10ffff;

void AppendUtf8(uint32_t code, std::string* text) {
  const auto add = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

// Writes out \uXXXX and \UXXXXXXXX. False for any other use of a backslash, and for what is no printable character.
bool Unescape(absl::string_view text, std::string* plain) {
  plain->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain->push_back(text[i]);
      continue;
    }
    const size_t digits = i + 1 == text.size() ? 0 : text[i + 1] == 'u' ? 4 : text[i + 1] == 'U' ? 8 : 0;
    const absl::string_view hex = digits == 0 ? "" : text.substr(i + 2, digits);
    uint32_t code = 0;
    if (digits == 0 || hex.size() != digits || !absl::SimpleHexAtoi(hex, &code)) return false;
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (code <= ' ' || code > kLastCodePoint || is_surrogate) return false;
    AppendUtf8(code, plain);
    i += 1 + digits;
  }
  return true;
}

// Takes an IRI from the front of the text.
bool TakeIri(absl::string_view* text, std::string* name) {
  if (!absl::StartsWith(*text, "<")) return false;
  const size_t end = text->find('>');
  if (end == absl::string_view::npos) return false;
  const absl::string_view iri = text->substr(1, end - 1);
  if (iri.empty() || iri.find_first_of(" \t<\"") != absl::string_view::npos || !Unescape(iri, name)) return false;
  text->remove_prefix(end + 1);
  return true;
}

bool TakeBlankNode(absl::string_view* text, std::string* name) {
  if (!absl::StartsWith(*text, "_:")) return false;
  size_t end = text->find_first_of(" \t<\"", 2);
  end = end == absl::string_view::npos ? text->size() : end;
  // A label may contain periods, but not end with one.
  while (end > 2 && (*text)[end - 1] == '.') --end;
  if (end == 2) return false;
  *name = std::string(text->substr(0, end));
  text->remove_prefix(end);
  return true;
}

bool TakeLiteral(absl::string_view* text, std::string* name) {
  if (!absl::StartsWith(*text, "\"")) return false;
  size_t end = 1;
  while (end < text->size() && (*text)[end] != '"') end += (*text)[end] == '\\' ? 2 : 1;
  if (end >= text->size()) return false;
  ++end;
  if (end < text->size() && (*text)[end] == '@') {
    do {
      ++end;
    } while (end < text->size() && (absl::ascii_isalnum((*text)[end]) || (*text)[end] == '-'));
  } else if (absl::StartsWith(text->substr(end), "^^<")) {
    end = text->find('>', end);
    if (end == absl::string_view::npos) return false;
    ++end;
  }
  *name = std::string(text->substr(0, end));
  text->remove_prefix(end);
  return name->find('\t') == std::string::npos;
}

}  // namespace

bool IsNTriplesLine(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  return (absl::StartsWith(line, "<") || absl::StartsWith(line, "_:")) && absl::EndsWith(line, ".") &&
         absl::StrContains(line, "<");
}

bool IsNTriplesComment(absl::string_view line) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#");
}

bool ParseNTriplesLine(absl::string_view line, NTriple* triple, std::string* problem) {
  const auto skip = [&] { line = absl::StripLeadingAsciiWhitespace(line); };
  const auto fail = [&](absl::string_view what) {
    *problem = absl::StrCat(what, ", expected <subject> <predicate> <object> and a period, as N-Triples have");
    return false;
  };
  skip();
  if (!TakeIri(&line, &triple->subject) && !TakeBlankNode(&line, &triple->subject)) return fail("no subject");
  skip();
  if (!TakeIri(&line, &triple->predicate)) return fail("no predicate");
  skip();
  triple->object_is_literal = absl::StartsWith(line, "\"");
  if (triple->object_is_literal) {
    if (!TakeLiteral(&line, &triple->object)) return fail("a literal that does not end, or has a tab in it");
  } else if (!TakeIri(&line, &triple->object) && !TakeBlankNode(&line, &triple->object)) {
    return fail("no object");
  }
  skip();
  std::string graph;
  if (TakeIri(&line, &graph) || TakeBlankNode(&line, &graph)) skip();
  if (!absl::StartsWith(line, ".")) return fail("no period behind the object");
  line.remove_prefix(1);
  skip();
  if (!line.empty() && !IsNTriplesComment(line)) return fail("more than one statement");
  return true;
}

}  // namespace rutile
