#include "lib/structure/extxyz/extxyz_writer.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/structure/element.h"
#include "lib/structure/extxyz/extxyz_keys.h"

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

void AppendFrame(const Structure& structure, const ExtxyzLabels& labels,
                 const std::function<bool(absl::string_view key)>& leaves_out, std::string* out) {
  const size_t n = structure.element.size();
  CHECK_EQ(structure.position.size(), 3 * n);
  absl::StrAppend(out, n, "\n");
  if (structure.cell != Matrix3{}) {
    out->append("Lattice=\"");
    AppendNumbers(structure.cell, out);
    out->append("\" ");
  }
  out->append("Properties=species:S:1:pos:R:3");
  for (const ExtxyzColumn& column : labels.columns) {
    CHECK_EQ(column.numbers.size(), n * column.width) << column.name;
    absl::StrAppend(out, ":", column.name, ":", std::string(1, column.type), ":", column.width);
  }
  for (const ExtxyzValue& value : labels.values) {
    absl::StrAppend(out, " ", value.name, value.numbers.size() == 1 ? "=" : "=\"");
    AppendNumbers(value.numbers, out);
    if (value.numbers.size() != 1) out->push_back('"');
  }
  out->append(" pbc=\"");
  for (int i = 0; i < 3; ++i) absl::StrAppend(out, i > 0 ? " " : "", structure.pbc[i] ? "T" : "F");
  out->push_back('"');
  const auto append_pair = [out](absl::string_view key, absl::string_view value) {
    out->push_back(' ');
    AppendWord(key, out);
    out->push_back('=');
    AppendWord(value, out);
  };
  for (const auto& [key, value] : structure.info) {
    if (!leaves_out(key)) append_pair(key, value);
  }
  for (const auto& [key, value] : labels.texts) append_pair(key, value);
  out->push_back('\n');
  for (size_t i = 0; i < n; ++i) {
    absl::StrAppend(out, ElementSymbol(structure.element[i]), " ");
    AppendNumbers(absl::MakeConstSpan(structure.position).subspan(3 * i, 3), out);
    for (const ExtxyzColumn& column : labels.columns) {
      out->push_back(' ');
      AppendNumbers(column.numbers.subspan(i * column.width, column.width), out);
    }
    out->push_back('\n');
  }
}

}  // namespace

void AppendExtxyz(const Structure& structure, std::string* out) {
  CHECK(structure.force.empty() || structure.force.size() == 3 * structure.element.size())
      << structure.force.size() << " force components";
  ExtxyzLabels labels;
  if (structure.energy.has_value()) labels.values.push_back({"energy", absl::MakeConstSpan(&*structure.energy, 1)});
  if (structure.stress.has_value()) labels.values.push_back({"stress", *structure.stress});
  if (!structure.force.empty()) labels.columns.push_back({"forces", 'R', 3, structure.force});
  const auto leaves_out = [&](absl::string_view key) {
    return (structure.energy.has_value() && IsAmong(kEnergyKeys, key)) ||
           (structure.stress.has_value() && IsAmong(kStressKeys, key));
  };
  AppendFrame(structure, labels, leaves_out, out);
}

void AppendExtxyz(const Structure& structure, const ExtxyzLabels& labels, std::string* out) {
  const auto leaves_out = [&](absl::string_view key) {
    return IsAmong(kEnergyKeys, key) || IsAmong(kStressKeys, key) || IsAmong(kVirialKeys, key) ||
           labels.texts.count(std::string(key)) > 0 ||
           std::any_of(labels.values.begin(), labels.values.end(),
                       [&](const ExtxyzValue& value) { return value.name == key; });
  };
  AppendFrame(structure, labels, leaves_out, out);
}

}  // namespace rutile
