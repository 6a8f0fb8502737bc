#include "lib/graph/known_file.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/graph/triples_file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(const TensorFile& file, absl::string_view name) {
  const absl::Span<const T> values = file.tensors.At(name).values<T>();
  return std::vector<T>(values.begin(), values.end());
}

// Checks that keys ascend, that each has tails, and that these ascend.
absl::Status CheckArrays(const KnowledgeGraph& graph, const std::vector<int32_t>& head,
                         const std::vector<int32_t>& relation, const std::vector<int64_t>& offset,
                         const std::vector<int32_t>& tail) {
  const auto error = [](absl::string_view tensor, int64_t at, absl::string_view rule) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor, "\": entry ", at, " ", rule));
  };
  if (offset[0] != 0) return error("offset", 0, "is not 0");
  for (size_t key = 0; key < head.size(); ++key) {
    if (head[key] < 0 || head[key] >= graph.num_entities()) return error("head", key, "is no entity's id");
    if (relation[key] < 0 || relation[key] >= graph.num_query_relations()) {
      return error("relation", key, "is no relation's id");
    }
    if (key > 0 && std::make_pair(head[key - 1], relation[key - 1]) >= std::make_pair(head[key], relation[key])) {
      return error("head", key, "and its relation do not follow the key before");
    }
    if (offset[key + 1] <= offset[key] || offset[key + 1] > static_cast<int64_t>(tail.size())) {
      return error("offset", key + 1, "is not above the one before, or above the number of tails");
    }
    for (int64_t i = offset[key]; i < offset[key + 1]; ++i) {
      if (tail[i] < 0 || tail[i] >= graph.num_entities()) return error("tail", i, "is no entity's id");
      if (i > offset[key] && tail[i] <= tail[i - 1]) return error("tail", i, "is not above the one before");
    }
  }
  if (offset.back() != static_cast<int64_t>(tail.size())) {
    return error("offset", head.size(), "is not the number of tails");
  }
  return absl::OkStatus();
}

}  // namespace

const Schema& KnownSchema() {
  static const Schema& schema = *new Schema{
      "kg.known/1",
      "The tails that are known for each (head, relation) of a `kg.triples/1` file, train, valid and test together, "
      "made "
      "by `cache-neighbors`. K keys in ascending order, L tails. With inverse relations, the heads of (relation r, "
      "tail) "
      "are the tails of (tail, R + r).",
      {
          {"offset", {DType::kI64}, {"K+1"}, true, "tails of key k are [offset[k], offset[k + 1]), at least one"},
          {"head", {DType::kI32}, {"K"}, true, "entity of the key"},
          {"relation", {DType::kI32}, {"K"}, true, "relation of the key, below R, or 2 R with inverse relations"},
          {"tail", {DType::kI32}, {"L"}, true, "entities, ascending within a key"},
      },
      {
          {"triples_sha256", true, "of the triples: a file that belongs to others is refused"},
      }};
  return schema;
}

KnownTails AllKnownTails(const KnowledgeGraph& graph) {
  const ProfileScope scope(Stage::kGraph);
  return KnownTails::Build({graph.train, graph.valid, graph.test}, graph.num_relations(), graph.inverse_relations);
}

absl::Status WriteKnownTails(absl::string_view path, const KnowledgeGraph& graph, const KnownTails& known,
                             const Metadata& metadata) {
  const ProfileScope scope(Stage::kWrite);
  Metadata all = metadata;
  all["kind"] = KnownSchema().kind;
  all["triples_sha256"] = TriplesSha256(graph);
  NamedTensors tensors;
  tensors.Set("offset", Tensor::Of(known.offsets()));
  tensors.Set("head", Tensor::Of(known.heads()));
  tensors.Set("relation", Tensor::Of(known.relations()));
  tensors.Set("tail", Tensor::Of(known.all_tails()));
  return WriteTensorFile(path, all, tensors);
}

absl::StatusOr<KnownTails> ReadKnownTails(absl::string_view path, const KnowledgeGraph& graph) {
  const ProfileScope scope(Stage::kRead);
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  RETURN_IF_ERROR(CheckSchema(KnownSchema(), file).status());
  if (const std::string expected = TriplesSha256(graph); file.metadata.at("triples_sha256") != expected) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": was made of other triples (SHA-256 ",
                                                   file.metadata.at("triples_sha256"), ", expected ", expected,
                                                   "); make it again with cache-neighbors, or leave it out"));
  }
  std::vector<int32_t> head = Values<int32_t>(file, "head"), relation = Values<int32_t>(file, "relation");
  std::vector<int64_t> offset = Values<int64_t>(file, "offset");
  std::vector<int32_t> tail = Values<int32_t>(file, "tail");
  if (absl::Status status = CheckArrays(graph, head, relation, offset, tail); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", status.message()));
  }
  return KnownTails::FromArrays(std::move(head), std::move(relation), std::move(offset), std::move(tail));
}

}  // namespace rutile
