#include "lib/kge/model/kge_transfer.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/graph/vocabulary.h"
#include "lib/kge/model/kge_options.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

std::string Describe(const KgeOptions& o) {
  std::string text = absl::StrCat(kKgeModelNames.Name(o.model), " with embeddings of ", o.embedding_dim);
  if (o.model == KgeModel::kTucker) return absl::StrCat(text, ", of relations ", o.relation_embedding_dim);
  if (o.model != KgeModel::kConvE) return text;
  return absl::StrCat(text, ", variant ", kConveVariantNames.Name(o.variant), ", image ", o.embedding_height, " x ",
                      o.embedding_width, ", ", o.output_channels, " channels, kernel ", o.kernel_height, " x ",
                      o.kernel_width);
}

// Returns, for each of `names`, its row in `from`, or -1 if it is not there.
std::vector<int64_t> RowsByName(const std::vector<std::string>& names, const std::vector<std::string>& from) {
  Vocabulary vocabulary;
  for (const std::string& name : from) vocabulary.Add(name);
  std::vector<int64_t> rows(names.size());
  std::transform(names.begin(), names.end(), rows.begin(),
                 [&](const std::string& name) { return vocabulary.Find(name); });
  return rows;
}

bool AreUnique(const std::vector<std::string>& texts) {
  return std::set<absl::string_view>(texts.begin(), texts.end()).size() == texts.size();
}

// Relations go by their labels where both sides have them: names such as predicate:0 are given by the order in a file.
std::vector<int64_t> RelationRows(const KnowledgeGraph& names, const KnowledgeGraph& from) {
  const bool labeled = !names.relation_labels.empty() && !from.relation_labels.empty() &&
                       AreUnique(names.relation_labels) && AreUnique(from.relation_labels);
  return labeled ? RowsByName(names.relation_labels, from.relation_labels)
                 : RowsByName(names.relations, from.relations);
}

int64_t CountTaken(const std::vector<int64_t>& rows) {
  return std::count_if(rows.begin(), rows.end(), [](int64_t row) { return row >= 0; });
}

template <typename From, typename To>
void Convert(absl::Span<const From> from, absl::Span<To> to) {
  std::transform(from.begin(), from.end(), to.begin(), [](From value) { return static_cast<To>(value); });
}

// Copies `count` numbers of `from` from `begin` on to those of `to` from `at` on. Both are F32 or F64.
void CopyValues(const Tensor& from, int64_t begin, int64_t count, int64_t at, Tensor* to) {
  const auto copy = [&](auto values) {
    const auto part = values.subspan(begin, count);
    if (to->dtype() == DType::kF64) return Convert(part, to->mutable_values<double>().subspan(at, count));
    Convert(part, to->mutable_values<float>().subspan(at, count));
  };
  if (from.dtype() == DType::kF64) return copy(from.values<double>());
  copy(from.values<float>());
}

}  // namespace

absl::StatusOr<KgeTransfer> TransferKge(const TrainedKge& from, const KgeShape& shape, const KnowledgeGraph& names,
                                        const Tensor& start) {
  CHECK_EQ(start.num_elements(), shape.offsets().size);
  const std::string has = Describe(from.shape.options), wants = Describe(shape.options);
  if (has != wants) {
    return absl::InvalidArgumentError(absl::StrCat("the model is ", has, "; the new run's is ", wants));
  }
  const std::vector<int64_t> entities = RowsByName(names.entities, from.names.entities);
  std::vector<int64_t> relations = RelationRows(names, from.names);
  if (CountTaken(entities) == 0 || CountTaken(relations) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model and the triples have no ", CountTaken(entities) == 0 ? "entity" : "relation",
        " in common: the first is \"", CountTaken(entities) == 0 ? from.names.entities[0] : from.names.relations[0],
        "\" in the model, \"", CountTaken(entities) == 0 ? names.entities[0] : names.relations[0],
        "\" in the triples"));
  }
  if (names.inverse_relations) {
    const size_t r = relations.size();
    for (size_t k = 0; k < r; ++k) {
      const bool inverse = from.names.inverse_relations && relations[k] >= 0;
      relations.push_back(inverse ? relations[k] + from.names.num_relations() : -1);
    }
  }

  KgeTransfer transfer;
  transfer.entities_taken = CountTaken(entities);
  transfer.entities_begun = names.num_entities() - transfer.entities_taken;
  transfer.relations_taken = CountTaken(relations);
  transfer.relations_begun = static_cast<int64_t>(relations.size()) - transfer.relations_taken;

  transfer.parameters = Tensor::Zeros(shape.options.precision, start.shape());
  CopyValues(start, 0, start.num_elements(), 0, &transfer.parameters);
  const std::vector<ParameterSlice> to_slices = shape.Slices(), from_slices = from.shape.Slices();
  CHECK_EQ(to_slices.size(), from_slices.size());  // the same model
  for (size_t k = 0; k < to_slices.size(); ++k) {
    const ParameterSlice& to = to_slices[k];
    const int64_t begin = from_slices[k].offset;
    const std::vector<int64_t>* rows = absl::StartsWith(to.name, "entity.")     ? &entities
                                       : absl::StartsWith(to.name, "relation.") ? &relations
                                                                                : nullptr;
    if (rows == nullptr) {
      CopyValues(from.parameters, begin, to.num_elements(), to.offset, &transfer.parameters);
      continue;
    }
    const auto count = static_cast<int64_t>(rows->size());
    const int64_t width = to.num_elements() / count;
    for (int64_t row = 0; row < count; ++row) {
      const int64_t taken = (*rows)[row];
      if (taken < 0) continue;
      CopyValues(from.parameters, begin + taken * width, width, to.offset + row * width, &transfer.parameters);
    }
  }
  return transfer;
}

}  // namespace rutile
