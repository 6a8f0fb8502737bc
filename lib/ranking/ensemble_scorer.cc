#include "lib/ranking/ensemble_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {
namespace {

// Copies a tensor's numbers as doubles.
std::vector<double> Doubles(const Tensor& tensor) {
  if (tensor.dtype() == DType::kF64) {
    const absl::Span<const double> values = tensor.values<double>();
    return {values.begin(), values.end()};
  }
  const absl::Span<const float> values = tensor.values<float>();
  return {values.begin(), values.end()};
}

// One model, whose rows are [N, width]: the entities' rows and biases (0 without biases).
struct Member {
  KgeScorer scorer;
  int64_t width = 0;               // the model's d + 1
  int64_t begin = 0;               // of its part of a row of the ensemble
  std::vector<double> covariance;  // of the rows, [width, width]

  // Returns the rows, [N, width].
  std::vector<double> Rows() const {
    const std::vector<double> entities = Doubles(scorer.entities), bias = Doubles(scorer.bias);
    const int64_t num = scorer.num_entities();
    std::vector<double> rows(num * width);
    for (int64_t e = 0; e < num; ++e) {
      std::copy_n(entities.begin() + e * (width - 1), width - 1, rows.begin() + e * width);
      if (!bias.empty()) rows[(e + 1) * width - 1] = bias[e];
    }
    return rows;
  }
};

// Rows or columns that one thread takes at a time, and rows whose products with a covariance are in memory at a time.
constexpr int64_t kGrain = 64, kProductRows = 2048;

// Threads, and products of matrices on them, whose rows have the same bits for any number of threads.
struct Work {
  explicit Work(int num_threads) : pool(num_threads), products(FactorRounding::kNone, &pool) {}
  ThreadPool pool;
  MatrixProducts<double> products;
};

// Multiplies each row v by 1 over the standard deviation of <v, x> over vectors x of this covariance, [width, width],
// or by 0 where all <v, x> are equal. rows: [num, width].
void Standardize(const std::vector<double>& covariance, int64_t width, Work* work, std::vector<double>* rows) {
  const int64_t num = static_cast<int64_t>(rows->size()) / width;
  std::vector<double> product(std::min(num, kProductRows) * width);
  for (int64_t first = 0; first < num; first += kProductRows) {
    const int64_t count = std::min(kProductRows, num - first);
    double* const part = rows->data() + first * width;
    work->products.Multiply({part, count, width, width}, {covariance.data(), width, width, width}, /*add=*/false,
                            product.data(), width);
    work->pool.For(count, kGrain, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        double* const row = part + r * width;
        const double variance = std::inner_product(row, row + width, product.begin() + r * width, 0.0);
        const double scale = variance > 0 ? 1 / std::sqrt(variance) : 0;
        for (int64_t i = 0; i < width; ++i) row[i] *= scale;
      }
    });
  }
}

// Takes the mean from each row, and returns the covariance of what is left, [width, width]. rows: [num, width].
std::vector<double> CenterRows(int64_t num, int64_t width, Work* work, std::vector<double>* rows) {
  std::vector<double> mean(width), size(width);
  // Each column is added up from the first row to the last.
  work->pool.For(width, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = 0; e < num; ++e) {
      for (int64_t i = begin; i < end; ++i) {
        mean[i] += (*rows)[e * width + i] / static_cast<double>(num);
        size[i] = std::max(size[i], std::abs((*rows)[e * width + i]));
      }
    }
  });
  work->pool.For(num, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      double* const row = rows->data() + e * width;
      for (int64_t i = 0; i < width; ++i) {
        row[i] -= mean[i];
        // What is equal in all rows but for rounding is equal.
        if (std::abs(row[i]) < 1e-12 * size[i]) row[i] = 0;
      }
    }
  });
  std::vector<double> covariance(width * width);
  const MatrixView<double> centered = {rows->data(), num, width, width};
  work->products.Multiply(centered.Transposed(), centered, /*add=*/false, covariance.data(), width);
  for (double& value : covariance) value /= static_cast<double>(num);
  return covariance;
}

// Copies a member's rows, [N, width], to their place in those of the ensemble, table [N, d].
void Place(const std::vector<double>& rows, const Member& member, Work* work, Tensor* table) {
  const int64_t dim = table->dim(1), width = member.width;
  const auto copy = [&](auto out) {
    work->pool.For(table->dim(0), kGrain, [&](int64_t begin, int64_t end, int) {
      for (int64_t e = begin; e < end; ++e) {
        auto* const to = out.data() + e * dim + member.begin;
        for (int64_t i = 0; i < width; ++i) to[i] = static_cast<std::decay_t<decltype(*to)>>(rows[e * width + i]);
      }
    });
  };
  if (table->dtype() == DType::kF64) {
    copy(table->mutable_values<double>());
  } else {
    copy(table->mutable_values<float>());
  }
}

// Returns v(h, relation) of all heads by one model, with a last number of 1: [N, width].
template <typename T>
absl::StatusOr<std::vector<double>> VectorsOfHeads(const Member& member, int32_t relation) {
  const int64_t num = member.scorer.num_entities(), dim = member.scorer.dim();
  std::vector<int32_t> heads(num);
  std::iota(heads.begin(), heads.end(), 0);
  std::vector<T> hidden(num * dim);
  RETURN_IF_ERROR(FillHidden<T>(member.scorer, heads, std::vector<int32_t>(num, relation), absl::MakeSpan(hidden)));
  std::vector<double> vectors(num * member.width, 1);
  for (int64_t h = 0; h < num; ++h) std::copy_n(hidden.begin() + h * dim, dim, vectors.begin() + h * member.width);
  return vectors;
}

template <typename T>
void CopyRows(const Tensor& table, absl::Span<const int32_t> ids, Tensor* rows) {
  const int64_t dim = table.dim(1);
  for (size_t i = 0; i < ids.size(); ++i) {
    std::copy_n(table.values<T>().begin() + ids[i] * dim, dim, rows->mutable_values<T>().begin() + i * dim);
  }
}

// Makes the scorer that compares heads of one relation (KgeScorer::heads_of). A model's scores of the heads of a tail
// are <v_h, row>, with mean <mean v, row> and variance row^T C row, C the covariance of the v.
absl::StatusOr<KgeScorer> ScorerOfHeads(const std::vector<Member>& members, DType dtype, int64_t dim, int32_t relation,
                                        Work* work) {
  const int64_t num = members[0].scorer.num_entities();
  KgeScorer heads;
  heads.entities = Tensor::Zeros(dtype, {num, dim});
  heads.bias = Tensor::Zeros(dtype, {0});
  heads.num_relations = members[0].scorer.num_relations;
  Tensor vectors = Tensor::Zeros(dtype, {num, dim});
  for (const Member& member : members) {
    RETURN_IF_ERROR(CheckInterrupt());
    const bool is_double = member.scorer.entities.dtype() == DType::kF64;
    ASSIGN_OR_RETURN(std::vector<double> of_heads,
                     is_double ? VectorsOfHeads<double>(member, relation) : VectorsOfHeads<float>(member, relation));
    const std::vector<double> covariance = CenterRows(num, member.width, work, &of_heads);
    Place(of_heads, member, work, &vectors);
    std::vector<double> rows = member.Rows();
    Standardize(covariance, member.width, work, &rows);
    Place(rows, member, work, &heads.entities);
  }
  heads.hidden = [vectors](absl::Span<const int32_t> ids, absl::Span<const int32_t>, Tensor* hidden) {
    if (vectors.dtype() == DType::kF64) {
      CopyRows<double>(vectors, ids, hidden);
    } else {
      CopyRows<float>(vectors, ids, hidden);
    }
    return absl::OkStatus();
  };
  return heads;
}

absl::Status Fill(const std::vector<Member>& members, absl::Span<const int32_t> heads,
                  absl::Span<const int32_t> relations, Work* work, Tensor* hidden) {
  const int64_t num = static_cast<int64_t>(heads.size());
  for (const Member& member : members) {
    Tensor own = Tensor::Zeros(member.scorer.entities.dtype(), {num, member.scorer.dim()});
    RETURN_IF_ERROR(member.scorer.hidden(heads, relations, &own));
    const std::vector<double> values = Doubles(own);
    std::vector<double> rows(num * member.width, 1);
    for (int64_t q = 0; q < num; ++q) {
      std::copy_n(values.begin() + q * (member.width - 1), member.width - 1, rows.begin() + q * member.width);
    }
    Standardize(member.covariance, member.width, work, &rows);
    Place(rows, member, work, hidden);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KgeScorer> MakeEnsembleScorer(std::vector<KgeScorer> models, int num_threads) {
  CHECK(!models.empty());
  const auto work = std::make_shared<Work>(num_threads);
  const int64_t num = models[0].num_entities();
  auto members = std::make_shared<std::vector<Member>>();
  bool is_double = false;
  int64_t dim = 0;
  for (KgeScorer& model : models) {
    if (model.num_entities() != num || model.num_relations != models[0].num_relations) {
      return absl::InvalidArgumentError(absl::StrCat("a model has ", model.num_entities(), " entities and ",
                                                     model.num_relations, " relations (with inverses), another ", num,
                                                     " and ", models[0].num_relations));
    }
    if (IsDistance(model.form)) {
      return absl::InvalidArgumentError(
          "a model whose scores are distances (transe, rotate) cannot be one of several: their mean and deviation over "
          "all entities are not a product of vectors");
    }
    is_double |= model.entities.dtype() == DType::kF64;
    Member member;
    member.width = model.dim() + 1;
    member.begin = dim;
    member.scorer = model;
    dim += member.width;
    members->push_back(std::move(member));
  }
  KgeScorer ensemble;
  ensemble.entities = Tensor::Zeros(is_double ? DType::kF64 : DType::kF32, {num, dim});
  ensemble.bias = Tensor::Zeros(ensemble.entities.dtype(), {0});
  ensemble.num_relations = models[0].num_relations;
  for (Member& member : *members) {
    std::vector<double> rows = member.Rows();
    for (int64_t i = 0; i < num * member.width; ++i) {
      if (std::isfinite(rows[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a number of entity ", i / member.width, " is not finite: such a model has no part in others"));
    }
    member.covariance = CenterRows(num, member.width, work.get(), &rows);
    Place(rows, member, work.get(), &ensemble.entities);
  }
  ensemble.hidden = [members, work](absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                                    Tensor* hidden) { return Fill(*members, heads, relations, work.get(), hidden); };
  ensemble.heads_of = [members, work, dtype = ensemble.entities.dtype(), dim](int32_t relation) {
    return ScorerOfHeads(*members, dtype, dim, relation, work.get());
  };
  return ensemble;
}

}  // namespace rutile
