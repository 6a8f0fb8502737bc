#include "lib/kge/influence/kge_products_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/graph/triple.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

absl::Status CheckTriples(absl::string_view what, absl::Span<const Triple> triples, const KgeShape& shape) {
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& triple = triples[i];
    const auto in = [](int32_t id, int64_t n) { return id >= 0 && id < n; };
    if (in(triple.head, shape.num_entities) && in(triple.tail, shape.num_entities) &&
        in(triple.relation, shape.num_relations)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        what, " triple ", i, " is (", triple.head, ", ", triple.relation, ", ", triple.tail, "); the model knows ",
        shape.num_entities, " entities and ", shape.num_relations, " relations, with inverses, numbered from 0"));
  }
  return absl::OkStatus();
}

// Returns INVALID_ARGUMENT unless the projection fits the factors.
absl::Status CheckProjection(const KgeShape& shape, const KgeInfluenceOptions& options, bool preconditioned) {
  if (options.projection.kind == ProjectionKind::kNone) return absl::OkStatus();
  if (preconditioned) {
    return absl::InvalidArgumentError(
        "with a preconditioner gradients have no factors that could be projected: choose one of them");
  }
  const bool over_entities = IsOverEntities(options.loss, options.quantity);
  if (over_entities && !IsOverEntities(options.loss)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a projection has no effect on the ", kKgeQuantityNames.Name(options.quantity), " of a test with the loss ",
        kKgeInfluenceLossNames.Name(options.loss), ", whose products have no factors: take a loss over all entities"));
  }
  const int64_t longest =
      std::max(shape.has_features() ? shape.num_features() : 0, over_entities ? shape.num_entities : 0);
  if (options.projection.dim < longest) return absl::OkStatus();
  if (longest == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a projection has no effect: gradients of ", kKgeModelNames.Name(shape.options.model), " with the loss ",
        kKgeInfluenceLossNames.Name(options.loss), " are a few embedding rows, whose products are exact and as fast"));
  }
  return absl::InvalidArgumentError(absl::StrCat("a projection to ", options.projection.dim,
                                                 " numbers has no effect: the longest factor of a gradient has ",
                                                 longest, "; expected fewer"));
}

absl::Status CheckTensor(absl::string_view what, const Tensor& tensor, DType dtype, int64_t size) {
  if (tensor.dtype() == dtype && tensor.num_elements() == size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " are ", tensor.num_elements(), " numbers of type ",
                                                 DTypeName(tensor.dtype()), "; the model has ", size, " of type ",
                                                 DTypeName(dtype)));
}

}  // namespace

absl::Status CheckKgeProducts(const KgeShape& shape, const WeightedCheckpoint& point, const KgeInfluenceData& data,
                              const KgeInfluenceOptions& options) {
  const DType dtype = point.parameters.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return absl::InvalidArgumentError(absl::StrCat("parameters are ", DTypeName(dtype), "; expected F32 or F64"));
  }
  RETURN_IF_ERROR(CheckInfluenceModel(shape.options.model));
  RETURN_IF_ERROR(CheckKgeInfluenceOptions(options, dtype));
  if (options.penalized && !HasRowPenalty(shape.options)) {
    return absl::InvalidArgumentError("penalized = true, but the model's regularizer has no penalty of single rows");
  }
  RETURN_IF_ERROR(CheckProjection(shape, options, point.preconditioner.num_elements() > 0));
  RETURN_IF_ERROR(CheckTensor("parameters", point.parameters, dtype, shape.offsets().size));
  if (point.preconditioner.num_elements() > 0) {
    RETURN_IF_ERROR(CheckTensor("preconditioners", point.preconditioner, dtype, shape.offsets().size));
  }
  if (point.loss_weight.size() > 1 ||
      (point.loss_weight.size() == 1 && !(point.loss_weight[0] >= 0 && std::isfinite(point.loss_weight[0])))) {
    return absl::InvalidArgumentError(absl::StrCat("an embedding's loss has one term, whose weight is at least 0; got ",
                                                   point.loss_weight.size(), " weights, the first ",
                                                   point.loss_weight[0]));
  }
  RETURN_IF_ERROR(CheckTriples("training", data.train, shape));
  RETURN_IF_ERROR(CheckTriples("test", data.tests, shape));
  const auto fits = [](size_t size, size_t wanted) { return size == 0 || size == wanted; };
  if (!fits(data.weights.size(), data.train.size()) || !fits(data.is_false.size(), data.train.size()) ||
      !fits(data.known_weights.size(), data.known == nullptr ? 0 : data.known->num_tails())) {
    return absl::InvalidArgumentError(
        absl::StrCat(data.weights.size(), " weights and ", data.is_false.size(), " marks of ", data.train.size(),
                     " training triples, and ", data.known_weights.size(), " weights of known tails: one is missing"));
  }
  const bool weighted = !data.weights.empty() || !data.is_false.empty() || !data.known_weights.empty();
  if (weighted && (options.curvature.has_value() || options.by_triple)) {
    return absl::InvalidArgumentError("the curvature and gradients by triple count triples, not weights of them");
  }
  if ((NeedsKnownTails(options.loss) || options.quantity == KgeQuantity::kMargin) && data.known == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the loss ", kKgeInfluenceLossNames.Name(options.loss),
                                                   " or a margin needs the known tails of the training triples"));
  }
  if (options.rival >= shape.num_entities) {
    return absl::InvalidArgumentError(absl::StrCat("the rival is entity ", options.rival, "; the model knows ",
                                                   shape.num_entities, ", numbered from 0"));
  }
  if (point.preconditioner.num_elements() > 0 && options.curvature.has_value()) {
    return absl::InvalidArgumentError("a preconditioner and the curvature of the loss exclude each other");
  }
  if (shape.is_tucker() && options.curvature.has_value()) {
    return absl::InvalidArgumentError(
        "the curvature of the loss of tucker is not computed: its core tensor joins all relations; take products of "
        "gradients without it, or another model, such as rescal");
  }
  if (IsOverEntities(options.loss) && shape.num_entities < 2) {
    return absl::InvalidArgumentError("a loss over entities needs at least 2 of them");
  }
  return absl::OkStatus();
}

}  // namespace rutile
