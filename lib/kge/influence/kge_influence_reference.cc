#include "lib/kge/influence/kge_influence_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

KgeLoss TrainingLoss(KgeInfluenceLoss loss) {
  switch (loss) {
    case KgeInfluenceLoss::kOneToN:
      return KgeLoss::kOneToN;
    case KgeInfluenceLoss::kOneOfN:
      return KgeLoss::kOneOfN;
    case KgeInfluenceLoss::kCrossEntropy:
      return KgeLoss::kOneVsAll;
    case KgeInfluenceLoss::kKvsAll:
      return KgeLoss::kKvsAll;
    case KgeInfluenceLoss::kTriple:
      break;
  }
  LOG(FATAL) << "no loss over entities: " << static_cast<int>(loss);
}

at::Tensor ScoreOf(const KgeShape& shape, const at::Tensor& parameters, const at::Tensor& v, int64_t tail) {
  const KgeShape::Offsets at = shape.offsets();
  const at::Tensor row = parameters.narrow(0, at.entity + tail * shape.dim(), shape.dim());
  const at::Tensor score = (v.squeeze(0) * row).sum();
  return at.entity_bias < 0 ? score : score + parameters[at.entity_bias + tail];
}

}  // namespace

void ReferenceKgeGradient(const KgeShape& shape, const Tensor& parameters, const KgeReferenceExample& example,
                          KgeInfluenceLoss loss, absl::Span<double> gradient) {
  CHECK_EQ(static_cast<int64_t>(gradient.size()), shape.offsets().size);
  const at::Tensor leaf = ToTorch(parameters).detach().requires_grad_(true);
  const Triple& triple = example.triple;
  const std::vector<int64_t> numbers = {0}, offsets = {0, static_cast<int64_t>(example.positive.size())};
  KgeBatch batch;
  batch.head = absl::MakeConstSpan(&triple.head, 1);
  batch.relation = absl::MakeConstSpan(&triple.relation, 1);
  batch.example = numbers;
  batch.positive_offset = offsets;
  batch.positive = example.positive;
  batch.training = false;
  const uint8_t is_false = example.is_false ? 1 : 0;
  batch.positive_weight = example.positive_weight;
  batch.is_false = absl::MakeConstSpan(&is_false, 1);
  const at::Tensor v = ReferenceHidden(shape, leaf, batch).v;
  at::Tensor result;
  if (example.quantity == KgeQuantity::kScore) {
    result = ScoreOf(shape, leaf, v, triple.tail);
  } else if (example.quantity == KgeQuantity::kDifference) {
    result = ScoreOf(shape, leaf, v, triple.tail) - ScoreOf(shape, leaf, v, example.rival);
  } else if (example.quantity == KgeQuantity::kMargin) {
    std::vector<at::Tensor> others;
    for (int32_t e = 0; e < shape.num_entities; ++e) {
      const bool is_out = std::binary_search(example.positive.begin(), example.positive.end(), e);
      if (e != triple.tail && !is_out) others.push_back(ScoreOf(shape, leaf, v, e));
    }
    result = ScoreOf(shape, leaf, v, triple.tail);
    if (!others.empty()) result = result - at::stack(others).logsumexp(0);
  } else if (!IsOverEntities(loss)) {
    const at::Tensor score = ScoreOf(shape, leaf, v, triple.tail);
    result = -example.weight * at::log_sigmoid(example.is_false ? -score : score);
  } else {
    KgeShape trained = shape;
    trained.options.loss = TrainingLoss(loss);
    result = ReferenceLosses(trained, ReferenceScores(shape, leaf, batch, v), batch).sum();
    batch.training = example.penalized;
    if (const at::Tensor added = ReferencePenalties(trained, leaf, batch); added.defined())
      result = result + added.sum();
  }
  const at::Tensor computed = torch::autograd::grad({result}, {leaf})[0].to(at::kCPU, at::kDouble).contiguous();
  std::copy_n(computed.data_ptr<double>(), gradient.size(), gradient.begin());
}

}  // namespace rutile
