#include "lib/kge/influence/penalty_factors.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/training/scores/embedding_penalty.h"

namespace rutile {

template <typename T>
void AddPenaltyFactors(const KgeShape& shape, const T* parameters, const KgeFactorInput& input, double loss_scale,
                       GradientFactors<T>* factors) {
  CHECK(HasRowPenalty(shape.options));
  if (factors->d_head == nullptr) return;
  const KgeShape::Offsets at = shape.offsets();
  const int64_t d = shape.dim(), of_relation = shape.relation_dim();
  // CP has a head's numbers in the first half of its row, and a tail's in the second.
  const int64_t part = d / PenalizedRowsOfEntity(shape.options), tail_offset = d - part;
  const RowPenalty of_entities(shape.options, part), of_relations(shape.options, of_relation);
  T* const d_head = factors->d_head_memory.template mutable_values<T>().data();
  T* const d_relation = factors->d_relation_memory.template mutable_values<T>().data();
  T* const d_tail = Take<T>(&factors->d_tail_memory, factors->size * d);
  std::fill_n(d_tail, factors->size * d, T(0));
  for (int64_t e = 0; e < factors->size; ++e) {
    const double weight = loss_scale * shape.options.regularization * (input.weight.empty() ? 1 : input.weight[e]);
    const auto add = [&](const RowPenalty& penalty, int64_t n, const T* x, T* to) {
      penalty.AddGradient(weight, absl::MakeConstSpan(x, n), absl::MakeSpan(to, n));
    };
    add(of_entities, part, parameters + at.entity + factors->head[e] * d, d_head + e * d);
    add(of_relations, of_relation, parameters + at.relation + factors->relation[e] * of_relation,
        d_relation + e * of_relation);
    add(of_entities, part, parameters + at.entity + factors->tail[e] * d + tail_offset, d_tail + e * d + tail_offset);
  }
  factors->d_tail = d_tail;
}

void AddPenaltyCurvature(const KgeOptions& options, double weight, absl::Span<const double> x, int64_t stride,
                         double* matrix) {
  CHECK(HasRowPenalty(options));
  const bool has_moduli = options.regularizer == KgeRegularizer::kN3 && options.model == KgeModel::kComplEx;
  const auto n = static_cast<int64_t>(x.size()), numbers = has_moduli ? n / 2 : n;
  for (int64_t k = 0; k < numbers; ++k) {
    if (options.regularizer == KgeRegularizer::kF2) {
      matrix[k * (stride + 1)] += 2 * weight;
      continue;
    }
    if (!has_moduli) {
      matrix[k * (stride + 1)] += 6 * weight * std::abs(x[k]);
      continue;
    }
    const double re = x[k], im = x[k + numbers], modulus = std::hypot(re, im);
    if (modulus == 0) continue;
    matrix[k * (stride + 1)] += 3 * weight * (modulus + re * re / modulus);
    matrix[(k + numbers) * (stride + 1)] += 3 * weight * (modulus + im * im / modulus);
    matrix[(k + numbers) * stride + k] += 3 * weight * re * im / modulus;
  }
}

template void AddPenaltyFactors(const KgeShape&, const float*, const KgeFactorInput&, double, GradientFactors<float>*);
template void AddPenaltyFactors(const KgeShape&, const double*, const KgeFactorInput&, double,
                                GradientFactors<double>*);

}  // namespace rutile
