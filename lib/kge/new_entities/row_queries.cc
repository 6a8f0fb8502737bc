#include "lib/kge/new_entities/row_queries.h"

#include <algorithm>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kge/influence/conve_evaluation.h"
#include "lib/kge/model/kge_options.h"
#include "lib/task/parameter_slice.h"

namespace rutile {
namespace {

// DistMult and ComplEx, whose v is linear in x.
class BilinearQueries : public RowQueries {
 public:
  BilinearQueries(const KgeShape& shape, const Tensor& parameters)
      : dim_(shape.dim()), half_(shape.options.model == KgeModel::kComplEx ? shape.dim() / 2 : 0) {
    relations_ = parameters.Slice(shape.offsets().relation, {shape.num_relations * dim_}).ToDoubles();
  }

  void Forward(absl::Span<const double> x, absl::Span<const int32_t> relations, absl::Span<double> v) override {
    for (size_t q = 0; q < relations.size(); ++q) {
      const double* const r = Relation(relations[q]);
      double* const out = v.data() + q * dim_;
      if (half_ == 0) {
        for (int64_t k = 0; k < dim_; ++k) out[k] = x[k] * r[k];
      }
      for (int64_t k = 0; k < half_; ++k) {
        out[k] = x[k] * r[k] - x[half_ + k] * r[half_ + k];
        out[half_ + k] = x[k] * r[half_ + k] + x[half_ + k] * r[k];
      }
    }
  }

  void AddGradient(absl::Span<const int32_t> relations, absl::Span<const double> d_v, absl::Span<double> d_x) override {
    for (size_t q = 0; q < relations.size(); ++q) {
      const double* const r = Relation(relations[q]);
      const double* const g = d_v.data() + q * dim_;
      if (half_ == 0) {
        for (int64_t k = 0; k < dim_; ++k) d_x[k] += g[k] * r[k];
      }
      for (int64_t k = 0; k < half_; ++k) {
        d_x[k] += g[k] * r[k] + g[half_ + k] * r[half_ + k];
        d_x[half_ + k] += g[half_ + k] * r[k] - g[k] * r[half_ + k];
      }
    }
  }

 private:
  const double* Relation(int32_t id) const { return relations_.data() + id * dim_; }

  const int64_t dim_, half_;
  std::vector<double> relations_;
};

// ConvE as a model of a single entity, whose row is overwritten with x.
class ConveQueries : public RowQueries {
 public:
  ConveQueries(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool)
      : shape_(OneEntity(shape)),
        parameters_(CopyOf(shape, parameters)),
        evaluation_(shape_, parameters_.data(), /*bf16=*/false, pool) {}

  void Forward(absl::Span<const double> x, absl::Span<const int32_t> relations, absl::Span<double> v) override {
    std::copy(x.begin(), x.end(), parameters_.begin() + shape_.offsets().entity);
    const size_t queries = relations.size();
    maps_.resize(queries * shape_.num_features());
    evaluation_.Forward(std::vector<int32_t>(queries, 0), relations, maps_.data(), v.data());
    v_.assign(v.begin(), v.end());
  }

  void AddGradient(absl::Span<const int32_t> relations, absl::Span<const double> d_v, absl::Span<double> d_x) override {
    const size_t queries = relations.size();
    const int64_t dim = shape_.dim();
    CHECK_EQ(v_.size(), d_v.size());
    std::vector<int32_t> key(queries);
    for (size_t q = 0; q < queries; ++q) key[q] = static_cast<int32_t>(q);
    std::vector<double> d_fc(v_.size()), d_head(v_.size()), d_relation(v_.size());
    std::vector<double> small(queries * SmallColumns(shape_).size);
    ConveGradients<double> gradients;
    gradients.d_fc = d_fc.data();
    gradients.small = small.data();
    gradients.d_head = d_head.data();
    gradients.d_relation = d_relation.data();
    evaluation_.Backward(key, maps_.data(), v_.data(), d_v.data(), gradients);
    for (size_t i = 0; i < d_head.size(); ++i) d_x[i % dim] += d_head[i];
  }

 private:
  static KgeShape OneEntity(KgeShape shape) {
    shape.num_entities = 1;
    return shape;
  }
  // Returns all parameters but the rows and biases of entities, which are 0.
  static std::vector<double> CopyOf(const KgeShape& shape, const Tensor& parameters) {
    const KgeShape one = OneEntity(shape);
    std::vector<double> values(one.offsets().size, 0.0);
    const std::vector<ParameterSlice> from = shape.Slices(), to = one.Slices();
    for (size_t k = 0; k < to.size(); ++k) {
      if (to[k].num_elements() != from[k].num_elements()) continue;  // of entities
      const std::vector<double> slice = parameters.Slice(from[k].offset, {from[k].num_elements()}).ToDoubles();
      std::copy(slice.begin(), slice.end(), values.begin() + to[k].offset);
    }
    return values;
  }

  const KgeShape shape_;
  std::vector<double> parameters_;
  ConveEvaluation<double> evaluation_;
  std::vector<double> maps_, v_;  // of the last Forward
};

}  // namespace

std::unique_ptr<RowQueries> MakeRowQueries(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool) {
  if (shape.is_conve()) return std::make_unique<ConveQueries>(shape, parameters, pool);
  const KgeModel model = shape.options.model;
  if (model != KgeModel::kDistMult && model != KgeModel::kComplEx) return nullptr;
  return std::make_unique<BilinearQueries>(shape, parameters);
}

}  // namespace rutile
