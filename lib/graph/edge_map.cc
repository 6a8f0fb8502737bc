#include "lib/graph/edge_map.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr absl::string_view kPredicate = "predicate";
constexpr absl::string_view kQualifier = "_qualifier";

void MakeKey(absl::Span<const std::string> values, std::string* key) {
  key->clear();
  for (const std::string& value : values) absl::StrAppend(key, value, absl::string_view("\0", 1));
}

// Writes a text as Python's json.dumps does: ASCII, the rest as \uXXXX.
std::string Quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

bool IsFlat(const std::string& text) { return text.find_first_of("\t\n\r") == std::string::npos; }

}  // namespace

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
      if (!value.is_string() || !IsFlat(value.get_ref<const std::string&>())) {
        return error(absl::StrCat(Quote(field), " in the key ", Quote(key), " is not a text in a line"));
      }
      fields.insert(field);
      entries.back().first[field] = value.get<std::string>();
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

absl::flat_hash_map<std::string, std::string> EdgeMap::Labels() const {
  absl::flat_hash_map<std::string, std::string> labels;
  for (const Entry& entry : entries_) {
    std::string predicate, qualifiers;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i] == kPredicate) {
        predicate = entry.values[i];
      } else if (!entry.values[i].empty()) {
        absl::StrAppend(&qualifiers, qualifiers.empty() ? "" : ", ", absl::StripSuffix(fields_[i], kQualifier), " ",
                        entry.values[i]);
      }
    }
    labels.emplace(entry.name, qualifiers.empty() ? predicate : absl::StrCat(predicate, " (", qualifiers, ")"));
  }
  return labels;
}

std::string EdgeMap::ToJson() const {
  std::string json = "{";
  for (const Entry& entry : entries_) {
    std::string key = "{";
    for (size_t i = 0; i < fields_.size(); ++i) {
      absl::StrAppend(&key, i == 0 ? "" : ", ", Quote(fields_[i]), ": ", Quote(entry.values[i]));
    }
    absl::StrAppend(&json, json.size() == 1 ? "\n  " : ",\n  ", Quote(key + "}"), ": ", Quote(entry.name));
  }
  return absl::StrCat(json, entries_.empty() ? "}\n" : "\n}\n");
}

}  // namespace rutile
