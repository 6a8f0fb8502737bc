#include "lib/kge/training/scores/negative_samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random_subset.h"

namespace rutile {
namespace {

// At least two are drawn uniformly, so that a query whose tail is drawn is compared with another entity.
constexpr int64_t kLeastUniform = 2;

// Calls visit(entity) for the answers of the training triples.
template <typename Visit>
void ForAnswers(const KnowledgeGraph& graph, const Visit& visit) {
  for (const Triple& triple : graph.train) {
    visit(triple.tail);
    if (graph.inverse_relations) visit(triple.head);
  }
}

}  // namespace

std::vector<int32_t> DrawNegatives(uint64_t seed, int64_t epoch, int64_t number, int64_t num_entities, int64_t count) {
  const std::vector<int64_t> drawn = RandomSubset(num_entities, count, RandomStream(seed, "negatives", epoch, number));
  return {drawn.begin(), drawn.end()};
}

double NegativeLogWeight(int64_t num_entities, int64_t count) {
  return std::log(static_cast<double>(num_entities) / static_cast<double>(count));
}

NegativeSampler::NegativeSampler(std::shared_ptr<const KnowledgeGraph> graph, const KgeOptions& options)
    : graph_(std::move(graph)), kind_(options.negatives_by), count_(options.negatives_per_batch), seed_(options.seed) {
  const int64_t n = graph_->num_entities();
  CHECK_LE(count_, n);
  if (kind_ == NegativeKind::kUniform) return;
  num_answers_ = static_cast<double>(graph_->train.size()) * (graph_->inverse_relations ? 2 : 1);
  if (kind_ == NegativeKind::kFrequency) {
    frequency_.assign(n, 0);
    ForAnswers(*graph_, [this](int32_t answer) { ++frequency_[answer]; });
    return;
  }
  const EntityTypes& types = graph_->entity_types;
  CHECK(!types.empty());
  double untyped = 0;
  of_type_.assign(types.names.size(), 0);
  ForAnswers(*graph_, [&](int32_t answer) {
    const absl::Span<const int32_t> of_answer = types.Of(answer);
    if (of_answer.empty()) ++untyped;
    for (const int32_t type : of_answer) of_type_[type] += 1.0 / static_cast<double>(of_answer.size());
  });
  of_untyped_ = untyped / (num_answers_ * static_cast<double>(n));
  type_begin_ = {0};
  for (const int64_t size : types.Counts()) {
    of_type_[type_begin_.size() - 1] /= num_answers_ * static_cast<double>(size);
    type_begin_.push_back(type_begin_.back() + size);
  }
  entity_of_type_.resize(type_begin_.back());
  std::vector<int64_t> next(type_begin_.begin(), type_begin_.end() - 1);
  for (int64_t e = 0; e < n; ++e) {
    for (const int32_t type : types.Of(static_cast<int32_t>(e))) {
      entity_of_type_[next[type]++] = static_cast<int32_t>(e);
    }
  }
}

double NegativeSampler::Probability(int32_t entity) const {
  if (kind_ == NegativeKind::kFrequency) return static_cast<double>(frequency_[entity]) / num_answers_;
  double p = of_untyped_;
  for (const int32_t type : graph_->entity_types.Of(entity)) p += of_type_[type];
  return p;
}

int32_t NegativeSampler::DrawAnswer(RandomStream* stream) const {
  const Triple& triple = graph_->train[stream->Below(graph_->train.size())];
  return graph_->inverse_relations && stream->Below(2) == 1 ? triple.head : triple.tail;
}

int32_t NegativeSampler::DrawOther(RandomStream* stream) const {
  const int32_t answer = DrawAnswer(stream);
  if (kind_ == NegativeKind::kFrequency) return answer;
  const absl::Span<const int32_t> types = graph_->entity_types.Of(answer);
  if (types.empty()) return static_cast<int32_t>(stream->Below(graph_->num_entities()));
  const int32_t type = types[stream->Below(types.size())];
  return entity_of_type_[type_begin_[type] + stream->Below(type_begin_[type + 1] - type_begin_[type])];
}

Negatives NegativeSampler::Draw(int64_t epoch, int64_t number) const {
  const int64_t n = graph_->num_entities();
  Negatives negatives;
  if (kind_ == NegativeKind::kUniform) {
    negatives.entities = DrawNegatives(seed_, epoch, number, n, count_);
    negatives.log_weight.assign(count_, NegativeLogWeight(n, count_));
    return negatives;
  }
  const int64_t uniform = std::max(kLeastUniform, count_ / 2), other = count_ - uniform;
  std::vector<int32_t> drawn = DrawNegatives(seed_, epoch, number, n, uniform);
  RandomStream stream(seed_, "negatives by frequency or type", epoch, number);
  for (int64_t i = 0; i < other; ++i) drawn.push_back(DrawOther(&stream));
  std::sort(drawn.begin(), drawn.end());
  const double of_uniform = static_cast<double>(uniform) / static_cast<double>(n);
  for (auto first = drawn.begin(); first != drawn.end();) {
    const auto last = std::upper_bound(first, drawn.end(), *first);
    const double expected = of_uniform + static_cast<double>(other) * Probability(*first);
    negatives.entities.push_back(*first);
    negatives.log_weight.push_back(std::log(static_cast<double>(last - first) / expected));
    first = last;
  }
  return negatives;
}

}  // namespace rutile
