#include "lib/graph/text/formats/kgx_edge.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lib/graph/text/shown_text.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr absl::string_view kQualifierPart = "qualif";
constexpr absl::string_view kBiolink = "biolink:";
constexpr absl::string_view kNegatedAttribute = "biolink:negated";
constexpr size_t kNumEnds = 3;

const std::vector<std::string>& EndFields() {
  static const auto& fields = *new std::vector<std::string>{"subject", "object", "predicate"};
  return fields;
}

// Returns the text of a value that is none of a list or an object; nullopt for these.
std::optional<std::string> ScalarText(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

// Returns the text of an object's field, "" for none.
std::string FieldText(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? "" : ScalarText(*found).value_or("");
}

// Adds the elements of a list of qualifiers: TRAPI's objects as a field each, or texts as one field. False if the list
// holds anything else, or there is no list.
bool AddList(const std::string& name, const nlohmann::json& list, std::vector<JsonField>* fields) {
  if (!list.is_array()) return false;
  std::vector<std::string> texts;
  for (const nlohmann::json& element : list) {
    if (const std::optional<std::string> text = ScalarText(element); text.has_value()) {
      texts.push_back(*text);
      continue;
    }
    if (!element.is_object()) return false;
    const std::string type = FieldText(element, "qualifier_type_id"), value = FieldText(element, "qualifier_value");
    if (type.empty() || value.empty()) return false;
    fields->push_back({std::string(absl::StripPrefix(type, kBiolink)), value});
  }
  // The order of a list of texts says nothing; | is between the texts of edges.tsv.
  std::sort(texts.begin(), texts.end());
  if (!texts.empty()) fields->push_back({name, absl::StrJoin(texts, "|")});
  return true;
}

}  // namespace

bool IsKgxQualifier(absl::string_view name) {
  for (size_t i = 0; i + kQualifierPart.size() <= name.size(); ++i) {
    if (name[i] != 'q' && name[i] != 'Q') continue;  // every key of every edge comes here
    if (absl::EqualsIgnoreCase(name.substr(i, kQualifierPart.size()), kQualifierPart)) return true;
  }
  return false;
}

KgxEdgeParser::Outcome KgxEdgeParser::Malformed(std::string problem) {
  problem_ = std::move(problem);
  return kMalformed;
}

KgxEdgeParser::Outcome KgxEdgeParser::ParseLine(absl::string_view line) {
  unused_.clear();
  const auto wants = [&](absl::string_view name) {
    // The fields of a map that grows are the predicate and qualifiers.
    return name == kNegatedField || IsKgxQualifier(name) || (!edges_->grows() && edges_->FieldIndex(name) >= 0);
  };
  if (const absl::Status parsed = ParseJsonTexts(line, EndFields(), wants, &ends_, &others_); !parsed.ok()) {
    return Malformed(std::string(parsed.message()));
  }
  // TRAPI keeps these in lists of objects, which the fast parser passes over.
  const bool is_nested =
      std::any_of(others_.begin(), others_.end(), [](const JsonField& field) { return field.is_nested; });
  if (is_nested || absl::StrContains(line, kNegatedAttribute)) {
    if (!AddNested(line)) return kMalformed;
  }
  return Finish();
}

KgxEdgeParser::Outcome KgxEdgeParser::ParseRow(absl::Span<const std::string> columns,
                                               absl::Span<const absl::string_view> fields) {
  unused_.clear();
  ends_.assign(kNumEnds, "");
  others_.clear();
  for (size_t i = 0; i < columns.size(); ++i) {
    const absl::string_view name = absl::StripPrefix(columns[i], "#");
    const auto end = std::find(EndFields().begin(), EndFields().end(), name);
    if (end != EndFields().end()) {
      ends_[end - EndFields().begin()] = std::string(fields[i]);
    } else if (!fields[i].empty() && (name == kNegatedField || IsKgxQualifier(name) || edges_->FieldIndex(name) >= 0)) {
      others_.push_back({std::string(name), std::string(fields[i])});
    }
  }
  return Finish();
}

bool KgxEdgeParser::AddNested(absl::string_view line) {
  const nlohmann::json edge = nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!edge.is_object()) {
    problem_ = "not valid JSON, expected an object in a line";
    return false;
  }
  std::vector<JsonField> fields;
  for (JsonField& other : others_) {
    if (!other.is_nested) {
      fields.push_back(std::move(other));
    } else if (other.name == kNegatedField) {
      problem_ = "\"negated\" is a list or an object, expected true or false";
      return false;
    } else if (std::vector<JsonField> found; AddList(other.name, edge.at(other.name), &found)) {
      fields.insert(fields.end(), found.begin(), found.end());
    } else {
      unused_.push_back({other.name, "no list of qualifier_type_id and qualifier_value, or of texts"});
    }
  }
  if (const auto attributes = edge.find("attributes"); attributes != edge.end() && attributes->is_array()) {
    for (const nlohmann::json& attribute : *attributes) {
      if (!attribute.is_object() || FieldText(attribute, "attribute_type_id") != kNegatedAttribute) continue;
      fields.push_back({kNegatedField, FieldText(attribute, "value")});
    }
  }
  others_ = std::move(fields);
  return true;
}

KgxEdgeParser::Outcome KgxEdgeParser::Finish() {
  for (size_t i = 0; i < kNumEnds; ++i) {
    if (ends_[i].empty()) return Malformed(absl::StrCat("an edge without \"", EndFields()[i], "\""));
    if (!IsFlat(ends_[i])) {
      return Malformed(absl::StrCat("\"", EndFields()[i], "\" is ", ShownText(ends_[i]), ", with a tab or a line end"));
    }
  }
  values_.assign(edges_->fields().size(), "");
  values_[edges_->FieldIndex(kPredicate)] = ends_[2];
  bool negated = false;
  std::string unknown;  // a qualifier that the map does not name: without it, the edge would be another statement
  for (const JsonField& other : others_) {
    if (other.value.empty()) continue;
    if (other.name == kNegatedField) {
      bool value = false;
      if (!ParseNegated(other.value, &value)) {
        return Malformed(absl::StrCat("\"negated\" is ", ShownText(other.value), ", expected true or false"));
      }
      negated = negated || value;
      continue;
    }
    int field = edges_->FieldIndex(other.name);
    const bool is_wanted =
        !options_.qualifiers.has_value() ||
        std::find(options_.qualifiers->begin(), options_.qualifiers->end(), other.name) != options_.qualifiers->end();
    if (edges_->grows() && is_wanted && field < 0) {
      field = edges_->AddField(other.name);
      values_.emplace_back();
    }
    if (edges_->grows() && (field < 0 || !is_wanted)) {
      unused_.push_back({other.name, ShownText(other.value)});
      continue;
    }
    if (field < 0) {
      if (unknown.empty()) unknown = absl::StrCat(other.name, "=", ShownText(other.value));
      continue;
    }
    if (!IsFlat(other.value)) {
      return Malformed(absl::StrCat("\"", other.name, "\" is ", ShownText(other.value), ", with a tab or a line end"));
    }
    if (!values_[field].empty() && values_[field] != other.value) {
      return Malformed(absl::StrCat("\"", other.name, "\" is both ", ShownText(values_[field]), " and ",
                                    ShownText(other.value), ", expected one value"));
    }
    values_[field] = other.value;
  }
  negated_ = negated;
  if (negated && !options_.negated_as_false) {
    int field = edges_->FieldIndex(kNegatedField);
    if (field < 0) {
      if (!options_.negated_relations || !edges_->grows()) return kNegated;
      field = edges_->AddField(kNegatedField);
      values_.emplace_back();
    }
    values_[field] = "true";
  }
  if (!unknown.empty()) {
    relation_ = "";
    problem_ = absl::StrCat("the edge map has no ", edges_->Describe(values_), " ", unknown,
                            ": no key of it names that qualifier");
    return kUnknownRelation;
  }
  relation_ = edges_->Find(values_);
  if (!relation_.empty()) return kEdge;
  problem_ = absl::StrCat("the edge map has no ", edges_->Describe(values_));
  return kUnknownRelation;
}

}  // namespace rutile
