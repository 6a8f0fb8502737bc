#include "lib/graph/text/edge_map.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr absl::string_view kQualifier = "_qualifier";

// Ends at the last value that is not "", so that a field that is added later changes no key.
void MakeKey(absl::Span<const std::string> values, std::string* key) {
  key->clear();
  while (!values.empty() && values.back().empty()) values.remove_suffix(1);
  for (const std::string& value : values) absl::StrAppend(key, value, absl::string_view("\0", 1));
}

// Writes a text as Python's json.dumps does: ASCII, the rest as \uXXXX.
std::string Quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

bool IsFlat(absl::string_view text) { return text.find_first_of("\t\n\r") == absl::string_view::npos; }

bool ParseNegated(absl::string_view text, bool* negated) {
  const std::string lower = absl::AsciiStrToLower(text);
  *negated = lower == "true" || lower == "t" || lower == "yes" || lower == "y" || lower == "1";
  return *negated || lower.empty() || lower == "false" || lower == "f" || lower == "no" || lower == "n" ||
         lower == "0" || lower == "none" || lower == "null";
}

EdgeMap::EdgeMap()
    : fields_{"object_aspect_qualifier", "object_direction_qualifier", std::string(kPredicate),
              "subject_aspect_qualifier", "subject_direction_qualifier"} {}

absl::StatusOr<EdgeMap> EdgeMap::Read(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  return Parse(contents.data(), path);
}

absl::StatusOr<EdgeMap> EdgeMap::Parse(absl::string_view text, absl::string_view path) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", what,
        ", expected an edge map, {\"{\\\"predicate\\\": \\\"biolink:treats\\\", ...}\": \"predicate:0\"}"));
  };
  std::set<std::string> keys;
  std::string twice;  // a repeated key; the parser would silently keep the last
  const auto see_key = [&](int depth, nlohmann::ordered_json::parse_event_t event, nlohmann::ordered_json& parsed) {
    if (event == nlohmann::ordered_json::parse_event_t::key && depth == 1 && !keys.insert(parsed).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  const auto json = nlohmann::ordered_json::parse(text.begin(), text.end(), see_key, /*allow_exceptions=*/false);
  if (!json.is_object() || json.empty()) return error("no JSON object with entries");
  if (!twice.empty()) return error(absl::StrCat("the key ", Quote(twice), " comes twice"));
  std::vector<std::pair<std::map<std::string, std::string>, std::string>> entries;
  std::set<std::string> fields;
  for (const auto& [key, name] : json.items()) {
    const nlohmann::json parts = nlohmann::json::parse(key, nullptr, /*allow_exceptions=*/false);
    if (!parts.is_object()) return error(absl::StrCat("the key ", Quote(key), " is no JSON object"));
    if (!name.is_string() || name.get_ref<const std::string&>().empty() ||
        !IsFlat(name.get_ref<const std::string&>())) {
      return error(absl::StrCat("the name of ", Quote(key), " is not a text in a line"));
    }
    entries.emplace_back();
    entries.back().second = name.get<std::string>();
    for (const auto& [field, value] : parts.items()) {
      // Python writes json.dumps(edge["negated"]) as true, and scripts for RTX-KG2 copy its "True".
      const bool is_boolean = value.is_boolean() && field != kPredicate;
      if (!is_boolean && (!value.is_string() || !IsFlat(value.get_ref<const std::string&>()))) {
        return error(absl::StrCat(Quote(field), " in the key ", Quote(key), " is not a text in a line"));
      }
      std::string text = is_boolean ? (value.get<bool>() ? "true" : "false") : value.get<std::string>();
      if (field == kNegatedField) {
        bool negated = false;
        if (!ParseNegated(text, &negated)) {
          return error(absl::StrCat("\"negated\" in the key ", Quote(key), " is neither true nor false"));
        }
        text = negated ? "true" : "";
      }
      fields.insert(field);
      entries.back().first[field] = std::move(text);
    }
  }
  if (fields.count(std::string(kPredicate)) == 0) return error("no key has a predicate");
  EdgeMap map;
  map.grows_ = false;
  map.fields_.assign(fields.begin(), fields.end());
  for (auto& [parts, name] : entries) {
    Entry entry;
    entry.name = std::move(name);
    for (const std::string& field : map.fields_) entry.values.push_back(parts[field]);
    MakeKey(entry.values, &map.key_);
    if (!map.index_.emplace(map.key_, map.entries_.size()).second) {
      return error(absl::StrCat("the key \"", map.Describe(entry.values), "\" comes twice"));
    }
    map.entries_.push_back(std::move(entry));
  }
  return map;
}

int EdgeMap::FieldIndex(absl::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i] == name) return static_cast<int>(i);
  }
  return -1;
}

int EdgeMap::AddField(absl::string_view name) {
  CHECK(grows_) << name;
  CHECK(FieldIndex(name) < 0) << name;
  fields_.emplace_back(name);
  return static_cast<int>(fields_.size()) - 1;
}

absl::string_view EdgeMap::Value(const Entry& entry, int field) {
  return field < static_cast<int>(entry.values.size()) ? absl::string_view(entry.values[field]) : "";
}

int64_t EdgeMap::NumValues(int field) const {
  std::set<absl::string_view> values;
  for (const Entry& entry : entries_) values.insert(Value(entry, field));
  values.erase("");
  return static_cast<int64_t>(values.size());
}

std::vector<int> EdgeMap::SortedFields() const {
  std::vector<int> order(fields_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return fields_[a] < fields_[b]; });
  return order;
}

absl::string_view EdgeMap::Find(absl::Span<const std::string> values) {
  MakeKey(values, &key_);
  const auto found = index_.find(key_);
  if (found != index_.end()) return entries_[found->second].name;
  if (!grows_) return "";
  index_.emplace(key_, entries_.size());
  entries_.push_back({{values.begin(), values.end()}, absl::StrCat("predicate:", entries_.size())});
  return entries_.back().name;
}

std::string EdgeMap::Describe(absl::Span<const std::string> values) const {
  std::string text;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (!values[i].empty()) absl::StrAppend(&text, text.empty() ? "" : " ", fields_[i], "=", values[i]);
  }
  return text;
}

std::string EdgeMap::Label(const Entry& entry, const std::vector<int>& order) const {
  std::string predicate, qualifiers;
  for (const int i : order) {
    const absl::string_view value = Value(entry, i);
    if (value.empty()) continue;
    if (fields_[i] == kPredicate) {
      predicate = std::string(value);
      continue;
    }
    absl::StrAppend(&qualifiers, qualifiers.empty() ? "" : ", ", absl::StripSuffix(fields_[i], kQualifier));
    if (fields_[i] != kNegatedField) absl::StrAppend(&qualifiers, " ", value);
  }
  return qualifiers.empty() ? predicate : absl::StrCat(predicate, " (", qualifiers, ")");
}

absl::flat_hash_map<std::string, std::string> EdgeMap::Labels() const {
  const std::vector<int> order = SortedFields();
  absl::flat_hash_map<std::string, std::string> labels;
  for (const Entry& entry : entries_) labels.emplace(entry.name, Label(entry, order));
  return labels;
}

std::string EdgeMap::LabelOf(absl::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return Label(entry, SortedFields());
  }
  return "";
}

std::string EdgeMap::ToJson() const {
  const std::vector<int> order = SortedFields();
  std::string json = "{";
  for (const Entry& entry : entries_) {
    std::string key = "{";
    for (const int i : order) {
      absl::StrAppend(&key, key.size() == 1 ? "" : ", ", Quote(fields_[i]), ": ", Quote(std::string(Value(entry, i))));
    }
    absl::StrAppend(&json, json.size() == 1 ? "\n  " : ",\n  ", Quote(key + "}"), ": ", Quote(entry.name));
  }
  return absl::StrCat(json, entries_.empty() ? "}\n" : "\n}\n");
}

}  // namespace rutile
