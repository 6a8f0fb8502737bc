#include "tools/tracin/outputs/influence_tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/file/file.h"
#include "tools/tracin/outputs/python_number.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAggregate[] = "all tests";

void AddCells(const std::vector<std::string>& cells, std::string* row) {
  for (const std::string& cell : cells) absl::StrAppend(row, "\t", TsvCell(cell));
}

void AddColumns(absl::string_view prefix, const std::vector<std::string>& columns, std::string* header) {
  for (const std::string& column : columns) absl::StrAppend(header, "\t", prefix, column);
}

void AddNumbers(absl::Span<const double> numbers, std::string* row) {
  for (const double number : numbers) absl::StrAppendFormat(row, "\t%.9g", number);
}

std::string Unit(const TracinResult& result) {
  if (result.description.normalization == InfluenceNormalization::kCosine || result.domain == nullptr) return "";
  const std::string unit = result.is_self() ? result.domain->self_unit() : result.domain->score_unit();
  return unit.empty() ? "" : absl::StrCat("[", unit, "]");
}

absl::Span<const double> PartsOf(const std::vector<double>& values, const Influence& influence, int64_t row) {
  if (values.empty()) return {};
  const size_t parts = influence.part_names.size();
  return absl::MakeConstSpan(values).subspan(row * parts, parts);
}

std::string SelfToTsv(const TracinResult& result) {
  const Influence& influence = result.influence;
  std::string text = "place\ttrain";
  if (result.domain != nullptr) AddColumns("", result.domain->train_columns(), &text);
  absl::StrAppend(&text, "\tself_influence", Unit(result));
  if (!influence.train_self_part.empty()) AddColumns("", influence.part_names, &text);
  absl::StrAppend(&text, "\n");
  int64_t place = 0;
  for (const int64_t at : LargestSelf(influence, result.description.top_k)) {
    const int64_t example = influence.train_order[at];
    std::string row = absl::StrCat(++place, "\t", example);
    if (result.domain != nullptr) AddCells(result.domain->TrainCells(example), &row);
    AddNumbers({influence.train_self[at]}, &row);
    AddNumbers(PartsOf(influence.train_self_part, influence, at), &row);
    absl::StrAppend(&text, row, "\n");
  }
  return text;
}

// ---- TiePin's forms

// Adds a triple in three forms: {prefix}head ... as ids, {prefix}head_label ... as in the data, {prefix}head_name ...
// as readable names.
void AddTriple(const NamedTriple& triple, const std::string& prefix, bool names, Json* json) {
  const char* const keys[] = {"head", "relation", "tail"};
  for (int i = 0; i < 3; ++i) (*json)[absl::StrCat(prefix, keys[i])] = triple.ids[i];
  if (triple.inverse) (*json)[absl::StrCat(prefix, "inverse")] = true;
  if (!names) return;
  for (int i = 0; i < 3; ++i) (*json)[absl::StrCat(prefix, keys[i], "_label")] = triple.names[i];
  for (int i = 0; i < 3; ++i) (*json)[absl::StrCat(prefix, keys[i], "_name")] = triple.people_names[i];
}

Json Influences(const TracinResult& result, size_t t, bool names) {
  const Influence& influence = result.influence;
  Json list = Json::array();
  for (int64_t entry = influence.offset[t]; entry < influence.offset[t + 1]; ++entry) {
    NamedTriple triple;
    result.domain->TrainTriple(influence.train[entry], &triple);
    Json item;
    AddTriple(triple, "train_", false, &item);
    item["influence"] = influence.score[entry];
    if (names) AddTriple(triple, "train_", true, &item);
    list.push_back(std::move(item));
  }
  return list;
}

Json TopK(const TracinResult& result) { return result.description.top_k > 0 ? Json(result.description.top_k) : Json(); }

// TiePin's learning rate is one number: of one checkpoint, or of several with the same rate.
Json LearningRate(const TracinResult& result) {
  const std::vector<double>& rates = result.description.rates;
  const bool one = std::all_of(rates.begin(), rates.end(), [&](double rate) { return rate == rates[0]; });
  return one && !rates.empty() ? Json(rates[0]) : Json(rates);
}

std::string Text(const Json& json) { return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace); }

Json SelfJson(const TracinResult& result) {
  Json list = Json::array();
  for (const int64_t at : LargestSelf(result.influence, result.description.top_k)) {
    NamedTriple triple;
    result.domain->TrainTriple(result.influence.train_order[at], &triple);
    Json item;
    AddTriple(triple, "", false, &item);
    item["self_influence"] = result.influence.train_self[at];
    list.push_back(std::move(item));
  }
  return list;
}

// Returns everything about a test, as a file of its own.
Json TestJson(const TracinResult& result, size_t t) {
  NamedTriple triple;
  result.domain->TestTriple(result.influence.tests[t], &triple);
  Json json;
  json["test_index"] = result.influence.tests[t];
  AddTriple(triple, "test_", true, &json);
  json["self_influence"] = result.influence.test_self[t];
  json["top_influences"] = Influences(result, t, true);
  json["top_k"] = TopK(result);
  json["learning_rate"] = LearningRate(result);
  json["question_sha256"] = QuestionSha256(result.description);
  return json;
}

Json SingleJson(const TracinResult& result) {
  Json list = Json::array();
  for (size_t t = 0; t < result.influence.tests.size(); ++t) {
    NamedTriple triple;
    result.domain->TestTriple(result.influence.tests[t], &triple);
    Json json;
    json["test_triple"] = {triple.ids[0], triple.ids[1], triple.ids[2]};
    json["test_triple_index"] = result.influence.tests[t];
    AddTriple(triple, "test_", false, &json);
    json["self_influence"] = result.influence.test_self[t];
    AddTriple(triple, "test_", true, &json);
    json["influences"] = Influences(result, t, true);
    list.push_back(std::move(json));
  }
  return list;
}

Json SetJson(const TracinResult& result) {
  Json json;
  json["num_test_triples"] = result.influence.tests.size();
  json["num_training_triples"] = result.influence.train_order.size();
  json["top_k"] = TopK(result);
  json["learning_rate"] = LearningRate(result);
  json["results"] = Json::array();
  for (size_t t = 0; t < result.influence.tests.size(); ++t) {
    NamedTriple triple;
    result.domain->TestTriple(result.influence.tests[t], &triple);
    Json item;
    AddTriple(triple, "test_", false, &item);
    item["top_influences"] = Influences(result, t, false);
    json["results"].push_back(std::move(item));
  }
  return json;
}

std::string TestCsv(const TracinResult& result, size_t t) {
  const Influence& influence = result.influence;
  std::string text = PythonCsvRow({"TestHead", "TestHead_label", "TestRel", "TestRel_label", "TestTail",
                                   "TestTail_label", "TrainHead", "TrainHead_label", "TrainRel", "TrainRel_label",
                                   "TrainTail", "TrainTail_label", "TracInScore", "SelfInfluence"});
  NamedTriple test, train;
  result.domain->TestTriple(influence.tests[t], &test);
  for (int64_t entry = influence.offset[t]; entry < influence.offset[t + 1]; ++entry) {
    result.domain->TrainTriple(influence.train[entry], &train);
    std::vector<std::string> fields;
    for (const NamedTriple* triple : {&test, &train}) {
      for (int i = 0; i < 3; ++i) {
        fields.push_back(triple->names[i]);
        fields.push_back(triple->people_names[i]);
      }
    }
    fields.push_back(PythonNumber(influence.score[entry]));
    fields.push_back(PythonNumber(influence.test_self[t]));
    absl::StrAppend(&text, PythonCsvRow(fields));
  }
  return text;
}

}  // namespace

std::vector<int64_t> LargestSelf(const Influence& influence, int64_t top_k) {
  std::vector<int64_t> places(influence.train_self.size());
  std::iota(places.begin(), places.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    if (influence.train_self[a] != influence.train_self[b]) return influence.train_self[a] > influence.train_self[b];
    return influence.train_order[a] < influence.train_order[b];
  };
  const size_t kept = top_k == 0 ? places.size() : std::min<size_t>(places.size(), top_k);
  std::partial_sort(places.begin(), places.begin() + static_cast<int64_t>(kept), places.end(), before);
  places.resize(kept);
  return places;
}

std::string ResultToTsv(const TracinResult& result) {
  if (result.is_self()) return SelfToTsv(result);
  const Influence& influence = result.influence;
  const InfluenceDomain* const domain = result.domain;
  const bool test_names = domain != nullptr && !result.is_aggregate() && domain->num_tests() > 0;
  std::string text = "test";
  if (test_names) {
    AddColumns("test_", domain->test_columns(), &text);
  } else {
    absl::StrAppend(&text, "\ttest_name");
  }
  absl::StrAppend(&text, "\tplace\ttrain");
  if (domain != nullptr) AddColumns("train_", domain->train_columns(), &text);
  absl::StrAppend(&text, "\tscore", Unit(result));
  if (!influence.part_score.empty()) AddColumns("", influence.part_names, &text);
  absl::StrAppend(&text, "\n");
  for (size_t t = 0; t < influence.tests.size(); ++t) {
    std::string test = result.is_aggregate() ? "all" : absl::StrCat(influence.tests[t]);
    if (test_names) {
      AddCells(domain->TestCells(influence.tests[t]), &test);
    } else {
      AddCells({result.is_aggregate() ? kAggregate : result.description.test_names[t]}, &test);
    }
    for (int64_t entry = influence.offset[t]; entry < influence.offset[t + 1]; ++entry) {
      std::string row = absl::StrCat(test, "\t", entry - influence.offset[t] + 1, "\t", influence.train[entry]);
      if (domain != nullptr) AddCells(domain->TrainCells(influence.train[entry]), &row);
      AddNumbers({influence.score[entry]}, &row);
      AddNumbers(PartsOf(influence.part_score, influence, entry), &row);
      absl::StrAppend(&text, row, "\n");
    }
  }
  return text;
}

absl::Status WriteTiepinFiles(const TracinResult& result, const OutputFlags& outputs) {
  if (outputs.csv_output.empty() && outputs.json_output.empty()) return absl::OkStatus();
  const Influence& influence = result.influence;
  if (!outputs.csv_output.empty()) {
    if (result.is_self()) return absl::InvalidArgumentError("--csv_output: self-influence has no such table");
    for (size_t t = 0; t < influence.tests.size(); ++t) {
      const std::string path = outputs.CsvOf(influence.tests[t], result.num_tests);
      if (!outputs.Keeps(path)) RETURN_IF_ERROR(WriteFileAtomically(path, TestCsv(result, t)));
    }
  }
  if (outputs.json_output.empty()) return absl::OkStatus();
  if (outputs.per_triple) {
    for (size_t t = 0; t < influence.tests.size(); ++t) {
      const std::string path = outputs.JsonOf(influence.tests[t]);
      if (!outputs.Keeps(path)) RETURN_IF_ERROR(WriteFileAtomically(path, Text(TestJson(result, t))));
    }
    return absl::OkStatus();
  }
  if (outputs.Keeps(outputs.json_output)) return absl::OkStatus();
  const Json json = result.is_self() ? SelfJson(result) : result.single ? SingleJson(result) : SetJson(result);
  return WriteFileAtomically(outputs.json_output, Text(json));
}

}  // namespace rutile
