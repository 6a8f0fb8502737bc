#include "lib/kge/training/kge_examples.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/graph/triple_sample.h"
#include "lib/graph/triple_weights.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/negative_samples.h"
#include "lib/task/batch_memory.h"

namespace rutile {
namespace {

KnownTails TailsOf(const std::vector<Triple>& triples, const KnowledgeGraph& graph) {
  const absl::Span<const Triple> split = triples;
  return KnownTails::Build({&split, 1}, graph.num_relations(), graph.inverse_relations);
}

// False without weights, which are then all 1.
bool AllZero(absl::Span<const double> weights) {
  return !weights.empty() && std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; });
}

// Lists of tails, one for each of B examples, as an offset and a flat tensor.
template <typename ListOf>
void FillLists(NamedTensors* batch, absl::string_view offset_name, absl::string_view name, int64_t size,
               const ListOf& list_of) {
  int64_t* const offset = Reuse<int64_t>(batch, offset_name, {size + 1});
  offset[0] = 0;
  for (int64_t b = 0; b < size; ++b) offset[b + 1] = offset[b] + static_cast<int64_t>(list_of(b).size());
  int32_t* const values = ReuseRows<int32_t>(batch, name, {offset[size]});
  for (int64_t b = 0; b < size; ++b) {
    const absl::Span<const int32_t> list = list_of(b);
    std::copy(list.begin(), list.end(), values + offset[b]);
  }
}

}  // namespace

KgeExamples::KgeExamples(std::shared_ptr<const KnowledgeGraph> graph, std::shared_ptr<const KnownTails> known,
                         const KgeOptions& options)
    : graph_(std::move(graph)),
      known_(std::move(known)),
      keys_(IsKeyLoss(options.loss)),
      train_keys_(LearnsKeys(options)),
      directions_(graph_->inverse_relations ? 2 : 1),
      weighted_(HasWeightsOrNegatives(*graph_)),
      negative_weight_(options.negative_weight) {
  if (IsSoftmaxLoss(options.loss) && options.negatives_per_batch > 0) {
    negatives_ = std::make_unique<const NegativeSampler>(graph_, options);
  }
  if (train_keys_) train_tails_ = TailsOf(graph_->train, *graph_);
  if (keys_) valid_tails_ = TailsOf(graph_->valid, *graph_);
  num_true_ = train_keys_ ? train_tails_.num_keys() : directions_ * static_cast<int64_t>(graph_->train.size());
  num_train_ = num_true_ + directions_ * static_cast<int64_t>(graph_->negatives.size());
  num_valid_ = directions_ * static_cast<int64_t>(graph_->valid.size());
  num_test_ = directions_ * static_cast<int64_t>(graph_->test.size());
  if (!train_keys_) return;
  // A triple that several splits have counts as it does in the first.
  for (const TripleList& list : kTripleLists) {
    const std::vector<double>& weights = graph_.get()->*list.triple_weights;
    for (size_t i = 0; i < weights.size(); ++i) weight_of_.emplace((graph_.get()->*list.triples)[i], weights[i]);
  }
}

std::vector<uint8_t> KgeExamples::LearnFrom(absl::Span<const uint8_t> kept) {
  CHECK_EQ(kept.size(), graph_->train.size());
  std::vector<uint8_t> left_out(size(), 0);
  if (!train_keys_) {
    for (int64_t i = 0; i < num_true_; ++i) left_out[i] = kept[i % static_cast<int64_t>(kept.size())] == 0 ? 1 : 0;
    return left_out;
  }
  std::vector<Triple> triples;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) triples.push_back(graph_->train[i]);
  }
  kept_tails_ = TailsOf(triples, *graph_);
  keeps_all_ = false;
  std::vector<double> own;
  for (int64_t i = 0; i < num_true_; ++i) {
    const absl::Span<const int32_t> tails = TrainTails(i);
    left_out[i] = tails.empty() || AllZero(Weights(i, tails, &own)) ? 1 : 0;
  }
  return left_out;
}

absl::Span<const int32_t> KgeExamples::TrainTails(int64_t key) const {
  if (keeps_all_) return train_tails_.tails(key);
  return kept_tails_.Tails(train_tails_.head(key), train_tails_.relation(key));
}

std::vector<int64_t> KgeExamples::TrainExamples() const {
  std::vector<int64_t> examples(num_train_);
  std::iota(examples.begin(), examples.end(), int64_t{0});
  if (!weighted_) return examples;
  const auto last = std::remove_if(examples.begin(), examples.end(), [&](int64_t i) { return IsWeightless(i); });
  examples.erase(last, examples.end());
  return examples;
}

double KgeExamples::WeightOfPair(int32_t head, int32_t relation, int32_t tail) const {
  const auto plain = static_cast<int32_t>(graph_->num_relations());
  const auto found =
      weight_of_.find(relation < plain ? Triple{head, relation, tail} : Triple{tail, relation - plain, head});
  return found == weight_of_.end() ? 1 : found->second;
}

bool KgeExamples::IsWeightless(int64_t example) const {
  std::vector<int32_t> own;
  std::vector<double> own_weights;
  // All training tails count, also those that LearnFrom left out: a key that is gone would move all later examples of
  // an epoch, and a run on a part would no longer be the whole run without the rest.
  const absl::Span<const int32_t> tails =
      train_keys_ && example < num_true_ ? train_tails_.tails(example) : Positives(example, &own);
  return AllZero(Weights(example, tails, &own_weights));
}

absl::Span<const double> KgeExamples::Weights(int64_t example, absl::Span<const int32_t> positives,
                                              std::vector<double>* own) const {
  if (!weighted_) return {};
  own->clear();
  const auto triples = static_cast<int64_t>(graph_->train.size());
  if (IsFalse(example)) {
    const int64_t i = (example - num_true_) % static_cast<int64_t>(graph_->negatives.size());
    own->push_back(negative_weight_ * WeightOf(graph_->negative_weights, i));
  } else if (keys_ || (train_keys_ && example < num_train_)) {
    const Query query = At(example);
    for (const int32_t tail : positives) own->push_back(WeightOfPair(query.head, query.relation, tail));
  } else if (example < num_train_) {
    own->push_back(WeightOf(graph_->train_weights, example % triples));
  } else {
    const bool valid = example < num_train_ + num_valid_;
    const int64_t i = (example - num_train_ - (valid ? 0 : num_valid_)) / directions_;
    own->push_back(WeightOf(valid ? graph_->valid_weights : graph_->test_weights, i));
  }
  return *own;
}

std::vector<int64_t> KgeExamples::QueriesByKey(int64_t first, int64_t count, int64_t sample) const {
  const int64_t triples = count / directions_;
  std::vector<int64_t> examples;
  for (const int64_t i : SampleOfTriples(triples, sample > 0 ? sample : triples)) {
    for (int64_t d = 0; d < directions_; ++d) examples.push_back(first + directions_ * i + d);
  }
  std::sort(examples.begin(), examples.end(), [this](int64_t a, int64_t b) {
    const Query x = At(a), y = At(b);
    return std::tie(x.head, x.relation, a) < std::tie(y.head, y.relation, b);
  });
  return examples;
}

KgeExamples::Query KgeExamples::QueryOf(const Triple& triple, bool inverse) const {
  if (!inverse) return {triple.head, triple.relation, triple.tail};
  return {triple.tail, static_cast<int32_t>(graph_->num_relations() + triple.relation), triple.head};
}

KgeExamples::Query KgeExamples::At(int64_t example) const {
  CHECK(example >= 0 && example < size()) << example;
  if (IsFalse(example)) {
    const auto negatives = static_cast<int64_t>(graph_->negatives.size());
    return QueryOf(graph_->negatives[(example - num_true_) % negatives], example - num_true_ >= negatives);
  }
  if (example < num_train_) {
    if (train_keys_) return {train_tails_.head(example), train_tails_.relation(example), -1};
    const auto triples = static_cast<int64_t>(graph_->train.size());
    return QueryOf(graph_->train[example % triples], example >= triples);
  }
  example -= num_train_;
  const std::vector<Triple>& triples = example < num_valid_ ? graph_->valid : graph_->test;
  if (example >= num_valid_) example -= num_valid_;
  return QueryOf(triples[example / directions_], example % directions_ == 1);
}

absl::Span<const int32_t> KgeExamples::Positives(int64_t example, std::vector<int32_t>* own) const {
  if (train_keys_ && example < num_true_) return TrainTails(example);
  const Query query = At(example);
  if (keys_ && example >= num_train_ + num_valid_) return known_->Tails(query.head, query.relation);
  own->clear();
  if (keys_ && !IsFalse(example)) {
    const absl::Span<const int32_t> train = train_tails_.Tails(query.head, query.relation);
    const absl::Span<const int32_t> valid = valid_tails_.Tails(query.head, query.relation);
    std::set_union(train.begin(), train.end(), valid.begin(), valid.end(), std::back_inserter(*own));
  } else {
    own->push_back(query.tail);
  }
  return *own;
}

absl::Span<const int32_t> KgeExamples::Known(int64_t example) const {
  const Query query = At(example);
  return known_->Tails(query.head, query.relation);
}

void KgeExamples::FillNegatives(int64_t epoch, int64_t number, NamedTensors* batch) const {
  if (negatives_ == nullptr) return;
  const Negatives drawn = negatives_->Draw(epoch, number);
  const auto count = static_cast<int64_t>(drawn.entities.size());
  std::copy(drawn.entities.begin(), drawn.entities.end(), Reuse<int32_t>(batch, "negative", {count}));
  std::copy(drawn.log_weight.begin(), drawn.log_weight.end(), Reuse<double>(batch, "negative_log_weight", {count}));
}

void KgeExamples::FillBatch(absl::Span<const int64_t> examples, int64_t epoch, NamedTensors* batch,
                            int64_t number) const {
  const auto size = static_cast<int64_t>(examples.size());
  int32_t* const head = Reuse<int32_t>(batch, "head", {size});
  int32_t* const relation = Reuse<int32_t>(batch, "relation", {size});
  int64_t* const numbers = Reuse<int64_t>(batch, "example", {size});
  for (int64_t b = 0; b < size; ++b) {
    const Query query = At(examples[b]);
    head[b] = query.head;
    relation[b] = query.relation;
    numbers[b] = examples[b];
  }
  Reuse<int64_t>(batch, "epoch", {1})[0] = epoch;
  Reuse<int64_t>(batch, "number", {1})[0] = number;
  std::vector<int32_t> own;
  FillLists(batch, "positive_offset", "positive", size, [&](int64_t b) { return Positives(examples[b], &own); });
  if (weighted_) {
    uint8_t* const is_false = Reuse<uint8_t>(batch, "is_false", {size});
    const absl::Span<const int64_t> offset = batch->At("positive_offset").values<int64_t>();
    double* const weights = ReuseRows<double>(batch, "positive_weight", {offset[size]});
    std::vector<double> of_one;
    for (int64_t b = 0; b < size; ++b) {
      is_false[b] = IsFalse(examples[b]) ? 1 : 0;
      const absl::Span<const double> w = Weights(examples[b], Positives(examples[b], &own), &of_one);
      std::copy(w.begin(), w.end(), weights + offset[b]);
    }
  }
  if (epoch >= 0) return FillNegatives(epoch, number, batch);
  FillLists(batch, "target_offset", "target", size, [&](int64_t b) {
    const Query query = At(examples[b]);
    if (query.tail < 0) return Positives(examples[b], &own);
    own.assign(IsFalse(examples[b]) ? 0 : 1, query.tail);
    return absl::MakeConstSpan(own);
  });
  FillLists(batch, "known_offset", "known", size, [&](int64_t b) { return Known(examples[b]); });
}

KgeBatch ViewKgeBatch(const NamedTensors& batch) {
  KgeBatch view;
  view.head = batch.At("head").values<int32_t>();
  view.relation = batch.At("relation").values<int32_t>();
  view.example = batch.At("example").values<int64_t>();
  view.positive_offset = batch.At("positive_offset").values<int64_t>();
  view.positive = batch.At("positive").values<int32_t>();
  if (batch.Has("positive_weight")) {
    view.positive_weight = batch.At("positive_weight").values<double>();
    view.is_false = batch.At("is_false").values<uint8_t>();
  }
  if (!IsEvaluation(batch) && batch.Has("negative")) {
    view.negative = batch.At("negative").values<int32_t>();
    view.negative_log_weight = batch.At("negative_log_weight").values<double>();
  }
  view.epoch = std::max<int64_t>(batch.At("epoch").values<int64_t>()[0], 0);
  view.number = batch.At("number").values<int64_t>()[0];
  view.training = !IsEvaluation(batch);
  return view;
}

}  // namespace rutile
