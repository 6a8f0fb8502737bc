#include "lib/kge/layers/conve/golden_conve_testing.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using Json = nlohmann::json;

// Returns the file's name of a slice.
std::string GoldenName(const std::string& slice) {
  static const auto& names = *new std::map<std::string, std::string>{
      {"entity.weight", "ent"}, {"entity.bias", "b"}, {"relation.weight", "rel"}};
  const auto found = names.find(slice);
  return found == names.end() ? slice : found->second;
}

template <typename T>
const T& Find(const std::map<std::string, T>& values, const std::string& name) {
  const auto found = values.find(name);
  CHECK(found != values.end()) << name << ": not in the golden file";
  return found->second;
}

GoldenRank ReadRank(const Json& json) {
  GoldenRank rank;
  const Json& triple = json.at("triple");
  rank.triple = {triple.at(0), triple.at(1), triple.at(2)};
  rank.filtered = json.at("filtered").get<std::vector<int32_t>>();
  rank.optimistic = json.at("optimistic");
  rank.pessimistic = json.at("pessimistic");
  rank.realistic = json.at("realistic");
  rank.raw_pessimistic = json.at("raw_pessimistic");
  return rank;
}

}  // namespace

void OwnedKgeBatch::Add(int32_t query_head, int32_t query_relation, const std::vector<int32_t>& positives) {
  example.push_back(static_cast<int64_t>(head.size()));
  head.push_back(query_head);
  relation.push_back(query_relation);
  positive.insert(positive.end(), positives.begin(), positives.end());
  positive_offset.push_back(static_cast<int64_t>(positive.size()));
}

KgeBatch OwnedKgeBatch::View(bool training, int64_t epoch) const {
  return {head, relation, example, positive_offset, positive, epoch, training};
}

OwnedKgeBatch RandomKgeBatch(const KgeShape& shape, int64_t size, int64_t max_positives, uint64_t seed) {
  RandomStream stream(seed, "random_kge_batch");
  OwnedKgeBatch batch;
  for (int64_t b = 0; b < size; ++b) {
    std::set<int32_t> tails;
    const auto count = static_cast<size_t>(1 + stream.Below(max_positives));
    while (tails.size() < count) tails.insert(static_cast<int32_t>(stream.Below(shape.num_entities)));
    const auto head = static_cast<int32_t>(stream.Below(shape.num_entities));
    batch.Add(head, static_cast<int32_t>(stream.Below(shape.num_relations)), {tails.begin(), tails.end()});
  }
  return batch;
}

GoldenConve::GoldenConve(absl::string_view variant) {
  const std::string path = absl::StrCat("testdata/kg/conve_", variant, ".json");
  std::ifstream file(path);
  CHECK(file) << path;
  const Json json = Json::parse(file);
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) scalars_[name] = value;
    if (absl::StartsWith(name, "metrics.")) metrics_[name] = value;
  }
  for (const auto& [name, array] : json.at("arrays").items()) {
    arrays_[name] =
        Tensor::Of<double>(array.at("data").get<std::vector<double>>(), array.at("shape").get<std::vector<int64_t>>());
  }
  for (const Json& rank : json.at("ranks")) ranks_.push_back(ReadRank(rank));
  learning_rates_ = json.at("lrs").get<std::vector<double>>();
  for (const Json& item : json.at("grad_flat_order")) gradient_order_.push_back(item.at(0));

  KgeOptions& options = shape_.options;
  options.variant = variant == "tiepin" ? ConveVariant::kTiepin : ConveVariant::kDettmers;
  options.embedding_dim = json.at("d");
  options.embedding_height = json.at("emb_h");
  options.embedding_width = json.at("emb_w");
  options.output_channels = json.at("C");
  options.kernel_height = options.kernel_width = json.at("k");
  options.input_dropout = options.feature_map_dropout = options.output_dropout = 0;
  options.label_smoothing = json.at("eps");
  options.precision = DType::kF64;
  shape_.num_entities = json.at("E");
  shape_.num_relations = json.at("R");
}

Tensor GoldenConve::Array(const std::string& name) const { return Find(arrays_, name); }

double GoldenConve::Scalar(const std::string& name) const { return Find(scalars_, name); }

double GoldenConve::Metric(const std::string& kind, const std::string& name) const {
  return Find(Find(metrics_, kind), name);
}

Tensor GoldenConve::Flat(const std::string& prefix) const {
  Tensor flat = Tensor::Zeros(DType::kF64, {shape_.offsets().size});
  bool any = false;
  for (const ParameterSlice& slice : shape_.Slices()) {
    const std::string name = prefix + GoldenName(slice.name);
    if (arrays_.count(name) == 0) continue;
    any = true;
    const Tensor array = Array(name);
    CHECK(array.shape() == slice.shape) << name;
    const absl::Span<const double> values = array.values<double>();
    std::copy(values.begin(), values.end(), flat.mutable_values<double>().begin() + slice.offset);
  }
  CHECK(any) << prefix;
  return flat;
}

std::vector<Triple> GoldenConve::Triples(const std::string& name) const {
  std::vector<Triple> triples;
  const Tensor array = Array(name);
  const absl::Span<const double> ids = array.values<double>();
  for (size_t i = 0; i + 2 < ids.size(); i += 3) {
    triples.push_back(
        {static_cast<int32_t>(ids[i]), static_cast<int32_t>(ids[i + 1]), static_cast<int32_t>(ids[i + 2])});
  }
  return triples;
}

OwnedKgeBatch GoldenConve::Batch(bool own_tail_alone) const {
  OwnedKgeBatch batch;
  for (const Triple& query : Triples("batch")) {
    std::set<int32_t> tails = {query.tail};
    for (const Triple& triple : Triples("train")) {
      if (!own_tail_alone && triple.head == query.head && triple.relation == query.relation) tails.insert(triple.tail);
    }
    batch.Add(query.head, query.relation, {tails.begin(), tails.end()});
  }
  return batch;
}

}  // namespace rutile
