#include "lib/influence/files/influence_tensors.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// Reads tensors under one prefix; errors name the tensor.
class Source {
 public:
  Source(const NamedTensors& tensors, absl::string_view prefix) : tensors_(tensors), prefix_(prefix) {}

  absl::Status Error(absl::string_view name, absl::string_view rule) const {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", prefix_, name, "\": ", rule));
  }

  // Reads a tensor of this shape, in which -1 is any size. Reads nothing if it is absent and not required.
  template <typename T>
  absl::Status Read(absl::string_view name, const std::vector<int64_t>& shape, bool required,
                    std::vector<T>* values) const {
    const Tensor* tensor = tensors_.Find(absl::StrCat(prefix_, name));
    if (tensor == nullptr) return required ? Error(name, "is missing") : absl::OkStatus();
    bool fits = tensor->dtype() == DTypeOf<T>() && tensor->rank() == static_cast<int>(shape.size());
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = shape[i] == -1 || tensor->dim(i) == shape[i];
    if (!fits) {
      return Error(name, absl::StrCat("is ", DTypeName(tensor->dtype()), " [", absl::StrJoin(tensor->shape(), ", "),
                                      "], expected ", DTypeName(DTypeOf<T>()), " [", absl::StrJoin(shape, ", "), "]"));
    }
    const absl::Span<const T> from = tensor->values<T>();
    values->assign(from.begin(), from.end());
    return absl::OkStatus();
  }

  absl::Status ReadExamples(absl::string_view name, int64_t n, int64_t lowest, std::vector<int64_t>* values) const {
    RETURN_IF_ERROR(Read(name, {n}, true, values));
    for (size_t i = 0; i < values->size(); ++i) {
      const int64_t value = (*values)[i];
      if (value < lowest || value > std::numeric_limits<int32_t>::max()) {
        return Error(name, absl::StrCat("entry ", i, " is ", value, ", which is no example's number"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadScores(absl::string_view name, const std::vector<int64_t>& shape, bool required,
                          std::vector<double>* values) const {
    RETURN_IF_ERROR(Read(name, shape, required, values));
    for (size_t i = 0; i < values->size(); ++i) {
      if (!std::isfinite((*values)[i])) return Error(name, absl::StrCat("entry ", i, " is ", (*values)[i]));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOffset(int64_t tests, std::vector<int64_t>* offset) const {
    RETURN_IF_ERROR(Read("offset", {tests + 1}, true, offset));
    if (offset->front() != 0) return Error("offset", "does not begin with 0");
    for (int64_t t = 0; t < tests; ++t) {
      if ((*offset)[t + 1] < (*offset)[t]) return Error("offset", absl::StrCat("entry ", t + 1, " descends"));
    }
    return absl::OkStatus();
  }

 private:
  const NamedTensors& tensors_;
  const std::string prefix_;
};

}  // namespace

void InfluenceToTensors(const Influence& influence, absl::string_view prefix, NamedTensors* tensors) {
  const int64_t parts = static_cast<int64_t>(influence.part_names.size());
  const auto name = [prefix](absl::string_view member) { return absl::StrCat(prefix, member); };
  const auto set = [&](absl::string_view member, const std::vector<double>& values) {
    if (!values.empty()) tensors->Set(name(member), Tensor::Of(values));
  };
  const auto set_parts = [&](absl::string_view member, const std::vector<double>& values) {
    if (values.empty()) return;
    tensors->Set(name(member), Tensor::Of<double>(values, {static_cast<int64_t>(values.size()) / parts, parts}));
  };
  tensors->Set(name("tests"), Tensor::Of(influence.tests));
  tensors->Set(name("offset"), Tensor::Of(influence.offset));
  tensors->Set(name("train"), Tensor::Of(influence.train));
  tensors->Set(name("score"), Tensor::Of(influence.score));
  set_parts("part_score", influence.part_score);
  tensors->Set(name("train_order"), Tensor::Of(influence.train_order));
  set("train_self", influence.train_self);
  set_parts("train_self_part", influence.train_self_part);
  set("test_self", influence.test_self);
  set_parts("test_self_part", influence.test_self_part);
}

absl::StatusOr<Influence> InfluenceFromTensors(const NamedTensors& tensors, absl::string_view prefix,
                                               std::vector<std::string> part_names) {
  const Source source(tensors, prefix);
  const int64_t parts = static_cast<int64_t>(part_names.size());
  Influence influence;
  RETURN_IF_ERROR(source.ReadExamples("tests", -1, -1, &influence.tests));
  const int64_t num_tests = static_cast<int64_t>(influence.tests.size());
  RETURN_IF_ERROR(source.ReadOffset(num_tests, &influence.offset));
  const int64_t listed = influence.offset.back();
  RETURN_IF_ERROR(source.ReadExamples("train", listed, 0, &influence.train));
  RETURN_IF_ERROR(source.ReadScores("score", {listed}, true, &influence.score));
  RETURN_IF_ERROR(source.ReadScores("part_score", {listed, parts}, false, &influence.part_score));
  RETURN_IF_ERROR(source.ReadExamples("train_order", -1, 0, &influence.train_order));
  const int64_t num_train = static_cast<int64_t>(influence.train_order.size());
  RETURN_IF_ERROR(source.ReadScores("train_self", {num_train}, false, &influence.train_self));
  RETURN_IF_ERROR(source.ReadScores("train_self_part", {num_train, parts}, false, &influence.train_self_part));
  RETURN_IF_ERROR(source.ReadScores("test_self", {num_tests}, false, &influence.test_self));
  RETURN_IF_ERROR(source.ReadScores("test_self_part", {num_tests, parts}, false, &influence.test_self_part));
  influence.part_names = std::move(part_names);
  return influence;
}

}  // namespace rutile
