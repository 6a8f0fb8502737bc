#include "lib/structure/extxyz_writer.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/structure/element.h"
#include "lib/structure/extxyz_keys.h"

namespace rutile {
namespace {

void AppendNumber(double value, std::string* out) {
  char text[32];
  out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void AppendNumbers(absl::Span<const double> values, std::string* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out->push_back(' ');
    AppendNumber(values[i], out);
  }
}

// Appends a word, quoted if necessary.
void AppendWord(absl::string_view word, std::string* out) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-' ||
           c == '.' || c == '+' || c == ':' || c == '/' || c == '*';
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    absl::StrAppend(out, word);
    return;
  }
  out->push_back('"');
  for (char c : word) {
    if (c == '"' || c == '\\') out->push_back('\\');
    if (c == '\n') {
      out->append("\\n");
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

template <size_t n>
bool IsAmong(const absl::string_view (&names)[n], absl::string_view key) {
  return std::find(names, names + n, key) != names + n;
}

}  // namespace

void AppendExtxyz(const Structure& structure, std::string* out) {
  const size_t n = structure.element.size();
  CHECK_EQ(structure.position.size(), 3 * n);
  CHECK(structure.force.empty() || structure.force.size() == 3 * n) << structure.force.size() << " force components";
  absl::StrAppend(out, n, "\n");
  if (structure.cell != Matrix3{}) {
    out->append("Lattice=\"");
    AppendNumbers(structure.cell, out);
    out->append("\" ");
  }
  out->append("Properties=species:S:1:pos:R:3");
  if (!structure.force.empty()) out->append(":forces:R:3");
  if (structure.energy.has_value()) {
    out->append(" energy=");
    AppendNumber(*structure.energy, out);
  }
  if (structure.stress.has_value()) {
    out->append(" stress=\"");
    AppendNumbers(*structure.stress, out);
    out->push_back('"');
  }
  out->append(" pbc=\"");
  for (int i = 0; i < 3; ++i) absl::StrAppend(out, i > 0 ? " " : "", structure.pbc[i] ? "T" : "F");
  out->push_back('"');
  for (const auto& [key, value] : structure.info) {
    if (structure.energy.has_value() && IsAmong(kEnergyKeys, key)) continue;
    if (structure.stress.has_value() && IsAmong(kStressKeys, key)) continue;
    out->push_back(' ');
    AppendWord(key, out);
    out->push_back('=');
    AppendWord(value, out);
  }
  out->push_back('\n');
  for (size_t i = 0; i < n; ++i) {
    absl::StrAppend(out, ElementSymbol(structure.element[i]), " ");
    AppendNumbers(absl::MakeConstSpan(structure.position).subspan(3 * i, 3), out);
    if (!structure.force.empty()) {
      out->push_back(' ');
      AppendNumbers(absl::MakeConstSpan(structure.force).subspan(3 * i, 3), out);
    }
    out->push_back('\n');
  }
}

}  // namespace rutile
