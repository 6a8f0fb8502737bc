#include "lib/kge/new_entities/row_queries.h"

#include <algorithm>
#include <map>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kge/influence/conve_evaluation.h"
#include "lib/kge/layers/product_query.h"
#include "lib/matrix/row_dot.h"
#include "lib/task/parameter_slice.h"

namespace rutile {
namespace {

// TuckER, whose v is the product of x with a matrix for each relation, M_ji = sum_k W_jki w_r,k.
class TuckerQueries : public RowQueries {
 public:
  TuckerQueries(const KgeShape& shape, const Tensor& parameters)
      : shape_(shape),
        dim_(shape.dim()),
        relations_(
            parameters.Slice(shape.offsets().relation, {shape.num_relations * shape.relation_dim()}).ToDoubles()),
        core_(parameters.Slice(shape.offsets().fc_weight, {dim_ * shape.num_features()}).ToDoubles()) {}

  void Forward(absl::Span<const double> x, absl::Span<const int32_t> relations, absl::Span<double> v) override {
    for (size_t q = 0; q < relations.size(); ++q) {
      const std::vector<double>& matrix = Matrix(relations[q]);
      for (int64_t j = 0; j < dim_; ++j) v[q * dim_ + j] = RowDot(matrix.data() + j * dim_, x.data(), dim_);
    }
  }

  void AddGradient(absl::Span<const int32_t> relations, absl::Span<const double> d_v, absl::Span<double> d_x) override {
    for (size_t q = 0; q < relations.size(); ++q) {
      const std::vector<double>& matrix = Matrix(relations[q]);
      for (int64_t j = 0; j < dim_; ++j) {
        for (int64_t i = 0; i < dim_; ++i) d_x[i] += d_v[q * dim_ + j] * matrix[j * dim_ + i];
      }
    }
  }

 private:
  // Returns the matrix [d, d] of a relation, which is computed when it is first asked for.
  const std::vector<double>& Matrix(int32_t relation) {
    const auto [found, is_new] = matrices_.try_emplace(relation);
    std::vector<double>& matrix = found->second;
    if (!is_new) return matrix;
    matrix.assign(dim_ * dim_, 0.0);
    const int64_t of_relation = shape_.relation_dim();
    const double* const r = relations_.data() + relation * of_relation;
    for (int64_t j = 0; j < dim_; ++j) {
      for (int64_t k = 0; k < of_relation; ++k) {
        const double* const row = core_.data() + (j * of_relation + k) * dim_;
        for (int64_t i = 0; i < dim_; ++i) matrix[j * dim_ + i] += r[k] * row[i];
      }
    }
    return matrix;
  }

  const KgeShape shape_;
  const int64_t dim_;
  const std::vector<double> relations_, core_;
  std::map<int32_t, std::vector<double>> matrices_;
};

// The models that have no weights but embeddings, whose v is linear in x.
class ProductQueries : public RowQueries {
 public:
  ProductQueries(const KgeShape& shape, const Tensor& parameters)
      : shape_(shape),
        dim_(shape.dim()),
        relations_(
            parameters.Slice(shape.offsets().relation, {shape.num_relations * shape.relation_dim()}).ToDoubles()),
        d_relation_(shape.relation_dim()) {}

  void Forward(absl::Span<const double> x, absl::Span<const int32_t> relations, absl::Span<double> v) override {
    x_.assign(x.begin(), x.end());
    for (size_t q = 0; q < relations.size(); ++q) {
      ProductQuery(shape_, x.data(), Relation(relations[q]), v.data() + q * dim_);
    }
  }

  void AddGradient(absl::Span<const int32_t> relations, absl::Span<const double> d_v, absl::Span<double> d_x) override {
    for (size_t q = 0; q < relations.size(); ++q) {
      AddProductGradients(shape_, x_.data(), Relation(relations[q]), d_v.data() + q * dim_, d_x.data(),
                          d_relation_.data());
    }
  }

 private:
  const double* Relation(int32_t id) const { return relations_.data() + id * shape_.relation_dim(); }

  const KgeShape shape_;
  const int64_t dim_;
  const std::vector<double> relations_;
  std::vector<double> x_;           // of the last Forward
  std::vector<double> d_relation_;  // not used: relations are fixed
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
  if (shape.is_tucker()) return std::make_unique<TuckerQueries>(shape, parameters);
  return std::make_unique<ProductQueries>(shape, parameters);
}

}  // namespace rutile
