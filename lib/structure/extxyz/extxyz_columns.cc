#include "lib/structure/extxyz/extxyz_columns.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/structure/extxyz/extxyz_keys.h"
#include "lib/structure/frame_reader.h"
#include "lib/structure/key_conflicts.h"
#include "lib/structure/missing_labels.h"
#include "lib/structure/parse_number.h"

namespace rutile {
namespace {

constexpr absl::string_view kPlain = "species:S:1:pos:R:3";
constexpr absl::string_view kSpeciesKeys[] = {"species", "element", "Z", "numbers", "atomic_numbers"};
constexpr int64_t kMaxCount = 1'000'000;  // largest column count of one property; rows are far shorter

}  // namespace

void ExtxyzColumns::SetPlain() {
  if (ignore_rest_) return;
  columns_ = {{Kind::kElement, 1, "species"}, {Kind::kPosition, 3, "pos"}};
  properties_ = std::string(kPlain);
  has_force_ = has_other_forces_ = false;
  ignore_rest_ = true;
}

absl::Status ExtxyzColumns::Set(absl::string_view properties, absl::string_view force_key, absl::string_view recorded) {
  if (!ignore_rest_ && properties == properties_ && force_key == force_key_ && recorded == recorded_) {
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(properties, ':');
  std::vector<Column> columns;
  std::vector<absl::string_view> types;
  for (size_t i = 0; i + 2 < parts.size(); i += 3) {
    const std::optional<int64_t> count = ParseInteger(parts[i + 2]);
    const bool type_ok =
        parts[i + 1].size() == 1 && absl::string_view("SIRL").find(parts[i + 1]) != absl::string_view::npos;
    if (parts[i].empty() || !type_ok || !count.has_value() || *count < 1 || *count > kMaxCount) {
      return absl::InvalidArgumentError(
          absl::StrCat("Properties has ", Quoted(absl::StrCat(parts[i], ":", parts[i + 1], ":", parts[i + 2])),
                       ", expected name:type:count with type S, I, R or L"));
    }
    columns.push_back({Kind::kSkip, *count, std::string(parts[i])});
    types.push_back(parts[i + 1]);
  }
  if (columns.empty() || parts.size() % 3 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Properties is ", Quoted(properties), ", expected triples such as ", kPlain, ":forces:R:3"));
  }
  // Finds a column and checks that it is unique and of the right type; -1 if there is none.
  absl::Status status;
  const auto find = [&](absl::string_view name, absl::string_view allowed_types, int64_t count) {
    int found = -1;
    for (size_t c = 0; c < columns.size() && status.ok(); ++c) {
      if (columns[c].name != name) continue;
      if (found >= 0) {
        status = absl::InvalidArgumentError(absl::StrCat("Properties has ", Quoted(name), " twice"));
      } else if (allowed_types.find(types[c]) == absl::string_view::npos || columns[c].count != count) {
        status =
            absl::InvalidArgumentError(absl::StrCat("Properties has ", name, ":", types[c], ":", columns[c].count,
                                                    ", expected ", name, ":", allowed_types.substr(0, 1), ":", count));
      }
      found = c;
    }
    return found;
  };
  int species = -1;
  for (absl::string_view key : kSpeciesKeys) {
    if (species < 0) species = find(key, key.size() > 5 && key != "atomic_numbers" ? "SI" : "IS", 1);
  }
  const int position = find("pos", "RI", 3);
  int force = -1;
  if (!force_key.empty()) {
    force = find(force_key, "RI", 3);
  } else {
    if (!recorded.empty()) force = find(recorded, "RI", 3);
    for (absl::string_view key : kForceKeys) {
      if (force < 0) force = find(key, "RI", 3);
    }
  }
  if (!status.ok()) return status;
  if (species < 0 || position < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Properties is ", Quoted(properties), ", which has no ", species < 0 ? "species:S:1" : "pos:R:3"));
  }
  columns[species].kind = Kind::kElement;
  columns[position].kind = Kind::kPosition;
  if (force >= 0) columns[force].kind = Kind::kForce;
  has_other_forces_ = false;
  for (size_t c = 0; c < columns.size() && force >= 0 && force_key.empty(); ++c) {
    const bool named = std::find(std::begin(kForceKeys), std::end(kForceKeys), columns[c].name) != std::end(kForceKeys);
    if (!named || columns[c].kind != Kind::kSkip || columns[c].count != 3) continue;
    columns[c].kind = Kind::kOtherForce;
    has_other_forces_ = true;
  }
  columns_ = std::move(columns);
  properties_ = std::string(properties);
  force_key_ = std::string(force_key);
  recorded_ = std::string(recorded);
  has_force_ = force >= 0;
  ignore_rest_ = false;
  return absl::OkStatus();
}

absl::string_view ExtxyzColumns::force_name() const {
  const auto is_force = [](const Column& column) { return column.kind == Kind::kForce; };
  const auto found = std::find_if(columns_.begin(), columns_.end(), is_force);
  return found == columns_.end() ? absl::string_view() : found->name;
}

std::vector<absl::string_view> ExtxyzColumns::ForceCandidates() const {
  std::vector<absl::string_view> names;
  for (const Column& column : columns_) {
    if (column.kind != Kind::kSkip || column.count != 3) continue;
    if (MissingLabels::IsLikeForce(column.name)) names.push_back(column.name);
  }
  return names;
}

bool ExtxyzColumns::ParseRow(absl::string_view line, int64_t i, Structure* structure) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  for (const Column& column : columns_) {
    switch (column.kind) {
      case Kind::kElement: {
        const uint8_t element = ParseElement(NextWord(&p, end));
        if (element == 0) return false;
        structure->element[i] = element;
        break;
      }
      case Kind::kPosition:
        if (!ParseTriple(&p, end, &structure->position[3 * i])) return false;
        break;
      case Kind::kForce:
        if (!ParseTriple(&p, end, &structure->force[3 * i])) return false;
        break;
      case Kind::kOtherForce:
      case Kind::kSkip:
        for (int64_t k = 0; k < column.count; ++k) {
          if (NextWord(&p, end).empty()) return false;
        }
        break;
    }
  }
  return ignore_rest_ || SkipBlanks(p, end) == end;
}

absl::string_view ExtxyzColumns::DifferingForce(absl::string_view line, const double* force, double* other) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  for (const Column& column : columns_) {
    const char* numbers = p;
    for (int64_t k = 0; k < column.count; ++k) NextWord(&p, end);
    if (column.kind != Kind::kOtherForce || !ParseTriple(&numbers, end, other)) continue;
    for (int k = 0; k < 3; ++k) {
      if (!SameNumber(force[k], other[k])) return column.name;
    }
  }
  return "";
}

std::string ExtxyzColumns::Diagnose(absl::string_view line, absl::string_view where) const {
  int64_t expected = 0;
  for (const Column& column : columns_) expected += column.count;
  const int64_t found = CountWords(line);
  if (found < expected || (found > expected && !ignore_rest_)) {
    return absl::StrCat(found, found == 1 ? " column in " : " columns in ", where, ", expected ", expected, " (",
                        properties_, ")");
  }
  const char* p = line.data();
  const char* const end = p + line.size();
  int64_t number = 0;
  for (const Column& column : columns_) {
    for (int64_t k = 0; k < column.count; ++k) {
      const absl::string_view word = NextWord(&p, end);
      ++number;
      if (column.kind == Kind::kElement && ParseElement(word) == 0) {
        return absl::StrCat("column ", number, ": ", Quoted(word), " is not an element in ", where,
                            ", expected a symbol such as Ti or an atomic number up to 118");
      }
      if (column.kind == Kind::kPosition || column.kind == Kind::kForce) {
        if (!ParseNumber(word).has_value()) {
          return absl::StrCat("column ", number, " (", column.name, "): ", WhyNoNumber(word), " in ", where,
                              ", expected a number in ", column.kind == Kind::kPosition ? "Angstrom" : "eV/Angstrom");
        }
      }
    }
  }
  return absl::StrCat(Quoted(line), " in ", where, ", expected ", properties_);
}

}  // namespace rutile
