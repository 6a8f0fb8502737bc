#include "lib/ranking/ensemble_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
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
  std::vector<double> covariance;  // [width, width]

  // Returns the standard deviation of the scores of all entities for the query v, with a last number of 1.
  double Deviation(const std::vector<double>& v) const {
    double variance = 0;
    for (int64_t i = 0; i < width; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += covariance[i * width + j] * v[j];
      variance += v[i] * sum;
    }
    return std::sqrt(std::max(0.0, variance));
  }
};

// Takes the mean from each row, and fills in the covariance over entities. rows: [N, width].
void CenterRows(std::vector<double>* rows, Member* member) {
  const int64_t width = member->width, num = member->scorer.num_entities();
  std::vector<double> mean(width), size(width);
  for (int64_t e = 0; e < num; ++e) {
    for (int64_t i = 0; i < width; ++i) {
      mean[i] += (*rows)[e * width + i] / static_cast<double>(num);
      size[i] = std::max(size[i], std::abs((*rows)[e * width + i]));
    }
  }
  member->covariance.assign(width * width, 0);
  for (int64_t e = 0; e < num; ++e) {
    double* const row = rows->data() + e * width;
    for (int64_t i = 0; i < width; ++i) {
      row[i] -= mean[i];
      // What is equal in all rows but for rounding is equal.
      if (std::abs(row[i]) < 1e-12 * size[i]) row[i] = 0;
    }
    for (int64_t i = 0; i < width; ++i) {
      double* const of_row = member->covariance.data() + i * width;
      for (int64_t j = 0; j < width; ++j) of_row[j] += row[i] * row[j];
    }
  }
  for (double& value : member->covariance) value /= static_cast<double>(num);
}

template <typename T>
absl::Status Fill(const std::vector<Member>& members, absl::Span<const int32_t> heads,
                  absl::Span<const int32_t> relations, Tensor* hidden) {
  const absl::Span<T> out = hidden->mutable_values<T>();
  const int64_t dim = hidden->dim(1);
  for (const Member& member : members) {
    Tensor own =
        Tensor::Zeros(member.scorer.entities.dtype(), {static_cast<int64_t>(heads.size()), member.scorer.dim()});
    RETURN_IF_ERROR(member.scorer.hidden(heads, relations, &own));
    const std::vector<double> values = Doubles(own);
    std::vector<double> v(member.width);
    for (size_t q = 0; q < heads.size(); ++q) {
      std::copy_n(values.begin() + q * (member.width - 1), member.width - 1, v.begin());
      v.back() = 1;
      const double deviation = member.Deviation(v);
      const double scale = deviation > 0 ? 1 / deviation : 0;
      T* const to = out.data() + q * dim + member.begin;
      for (int64_t i = 0; i < member.width; ++i) to[i] = static_cast<T>(scale * v[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KgeScorer> MakeEnsembleScorer(std::vector<KgeScorer> models) {
  CHECK(!models.empty());
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
  ensemble.scaled_by_query = true;
  for (Member& member : *members) {
    const std::vector<double> entities = Doubles(member.scorer.entities), bias = Doubles(member.scorer.bias);
    std::vector<double> rows(num * member.width);
    for (int64_t e = 0; e < num; ++e) {
      std::copy_n(entities.begin() + e * (member.width - 1), member.width - 1, rows.begin() + e * member.width);
      if (!bias.empty()) rows[(e + 1) * member.width - 1] = bias[e];
    }
    for (int64_t i = 0; i < num * member.width; ++i) {
      if (std::isfinite(rows[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a number of entity ", i / member.width, " is not finite: such a model has no part in others"));
    }
    CenterRows(&rows, &member);
    for (int64_t i = 0; i < num * member.width; ++i) {
      const int64_t at = i / member.width * dim + member.begin + i % member.width;
      if (is_double) {
        ensemble.entities.mutable_values<double>()[at] = rows[i];
      } else {
        ensemble.entities.mutable_values<float>()[at] = static_cast<float>(rows[i]);
      }
    }
  }
  ensemble.hidden = [members, is_double](absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                                         Tensor* hidden) {
    return is_double ? Fill<double>(*members, heads, relations, hidden)
                     : Fill<float>(*members, heads, relations, hidden);
  };
  return ensemble;
}

}  // namespace rutile
