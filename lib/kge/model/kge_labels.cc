#include "lib/kge/model/kge_labels.h"

#include "lib/base/logging.h"

namespace rutile {
namespace {

SmoothedLabels Smooth(LabelSmoothing form, double eps, double num_entities) {
  if (eps == 0) return {};
  switch (form) {
    case LabelSmoothing::kDettmers:
      return {1 / num_entities, 1 - eps};
    case LabelSmoothing::kStandard:
      return {eps / num_entities, 1 - eps};
    case LabelSmoothing::kPykeen:
      return {eps / (num_entities - 1), 1 - eps - eps / (num_entities - 1)};
  }
  LOG(FATAL) << "no such smoothing: " << static_cast<int>(form);
}

}  // namespace

SmoothedLabels SmoothLabels(const KgeOptions& options, int64_t num_entities, int64_t num_true) {
  SmoothedLabels labels = Smooth(options.smoothing_form, options.label_smoothing, static_cast<double>(num_entities));
  if (!IsSoftmaxLoss(options.loss)) return labels;
  if (GroupsQueries(options)) {
    const double of_one = labels.base * static_cast<double>(num_entities) + labels.extra;
    return {labels.base / of_one, labels.extra / of_one / static_cast<double>(num_true)};
  }
  const double sum = labels.base * static_cast<double>(num_entities) + labels.extra * static_cast<double>(num_true);
  return {labels.base / sum, labels.extra / sum};
}

}  // namespace rutile
