#include "lib/graph/triple_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/file/sha256.h"
#include "lib/graph/weight_range.h"

namespace rutile {
namespace {

absl::Status CheckWeights(const TripleList& list, const std::vector<Triple>& triples,
                          const std::vector<double>& weights) {
  if (weights.empty()) return absl::OkStatus();
  if (weights.size() != triples.size()) {
    return absl::InvalidArgumentError(absl::StrCat(list.weights, ": ", weights.size(), " weights of ", triples.size(),
                                                   " triples, expected one for each or none"));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (IsTripleWeight(weights[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(list.name, " triple ", i, ": its weight is ", weights[i],
                                                   ", expected 0, or a number of ", kLeastTripleWeight, " to ",
                                                   kLargestTripleWeight));
  }
  if (list.triples != &KnowledgeGraph::train) return absl::OkStatus();
  if (std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; })) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the weights of all ", weights.size(), " ", list.name, " triples are 0, expected one above 0"));
}

}  // namespace

bool HasWeightsOrNegatives(const KnowledgeGraph& graph) {
  return !graph.negatives.empty() || !graph.train_weights.empty() || !graph.valid_weights.empty() ||
         !graph.test_weights.empty();
}

absl::Status CheckTripleWeights(const KnowledgeGraph& graph) {
  for (const TripleList& list : kTripleLists) {
    if (absl::Status status = CheckWeights(list, graph.*list.triples, graph.*list.triple_weights); !status.ok()) {
      return status;
    }
  }
  if (graph.negatives.empty()) return absl::OkStatus();
  absl::flat_hash_set<Triple> negatives;
  for (size_t i = 0; i < graph.negatives.size(); ++i) {
    if (negatives.insert(graph.negatives[i]).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("negatives triple ", i, " comes twice, expected each once"));
  }
  for (const TripleList& list : kTripleLists) {
    if (list.triples == &KnowledgeGraph::negatives) continue;
    const std::vector<Triple>& triples = graph.*list.triples;
    for (size_t i = 0; i < triples.size(); ++i) {
      if (!negatives.contains(triples[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(list.name, " triple ", i, " is among the negatives, too: a triple ", "is true or false"));
    }
  }
  return absl::OkStatus();
}

std::string WeightsSha256(const KnowledgeGraph& graph) {
  if (!HasWeightsOrNegatives(graph)) return "";
  Sha256 sha256;
  const auto add = [&](const void* data, size_t size) {
    sha256.Update(absl::string_view(static_cast<const char*>(data), size));
  };
  for (const TripleList& list : kTripleLists) {
    const std::vector<double>& weights = graph.*list.triple_weights;
    sha256.Update(absl::StrCat(list.weights, " ", weights.size(), "\n"));
    add(weights.data(), weights.size() * sizeof(double));
  }
  sha256.Update(absl::StrCat("negatives ", graph.negatives.size(), "\n"));
  add(graph.negatives.data(), graph.negatives.size() * sizeof(Triple));
  return sha256.HexDigest();
}

}  // namespace rutile
