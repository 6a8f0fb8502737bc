#include "tools/tracin/graphs/kge_weights.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "lib/graph/triple.h"

namespace rutile {

namespace {

// Returns the weights, or none if all are 1, which changes nothing.
std::vector<double> OtherThanOne(std::vector<double> weights) {
  const bool is_one = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 1; });
  return is_one ? std::vector<double>() : std::move(weights);
}

}  // namespace

std::vector<double> LossWeights(const KgeData& data, double negative_weight) {
  std::vector<double> weights = data.weights;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (data.IsFalse(static_cast<int64_t>(i))) weights[i] *= negative_weight;
  }
  return OtherThanOne(std::move(weights));
}

std::vector<double> KnownWeights(const KgeData& data, const KnownTails& known) {
  const std::vector<double>& weights = data.graph.train_weights;
  if (weights.empty()) return {};
  absl::flat_hash_map<Triple, double> weight_of;
  for (size_t i = 0; i < weights.size(); ++i) weight_of.emplace(data.graph.train[i], weights[i]);
  std::vector<double> of_tails;
  for (int64_t key = 0; key < known.num_keys(); ++key) {
    for (const int32_t tail : known.tails(key)) {
      of_tails.push_back(weight_of.at(data.Plain({known.head(key), known.relation(key), tail})));
    }
  }
  return OtherThanOne(std::move(of_tails));
}

absl::Status CheckSameWeights(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                              const std::optional<TrainedKge>& model, const KgeData& data) {
  const auto& recorded = checkpoint_set.are_models() ? model->metadata : checkpoint_set.checkpoints[0].task;
  const auto found = recorded.find("weights_sha256");
  const std::string of_run = found == recorded.end() ? "" : found->second;
  if (of_run == data.weights_sha256) return absl::OkStatus();
  // Nothing is known of how an imported model was trained, nor of one of before weights were recorded.
  if (of_run.empty() && checkpoint_set.are_models() && data.learned_sha256.empty()) return absl::OkStatus();
  const char* const what = of_run.empty()                ? "the run had no weights and no known-false triples"
                           : data.weights_sha256.empty() ? "has no weights and no known-false triples, as the run had"
                                                         : "has other weights or known-false triples than the run had";
  return WarnOrRefuse(flags, absl::StrCat(flags.train[0], ": ", what, " (", checkpoint_set.paths[0],
                                          "): give the triples.safetensors of the run"));
}

}  // namespace rutile
