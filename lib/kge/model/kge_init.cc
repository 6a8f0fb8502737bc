#include "lib/kge/model/kge_init.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

template <typename T>
void FillNormal(double deviation, RandomStream stream, absl::Span<T> values) {
  for (T& value : values) value = static_cast<T>(deviation * stream.Normal());
}

template <typename T>
void FillUniform(double bound, RandomStream stream, absl::Span<T> values) {
  for (T& value : values) value = static_cast<T>(stream.Uniform(-bound, bound));
}

template <typename T>
void FillEmbeddings(const EmbeddingInit& init, const ParameterSlice& table, RandomStream stream, absl::Span<T> values) {
  switch (init.kind) {
    case EmbeddingInitKind::kXavier:
      return FillNormal(std::sqrt(2 / static_cast<double>(table.shape[0] + table.shape[1])), stream, values);
    case EmbeddingInitKind::kNormal:
      return FillNormal(init.scale, stream, values);
    case EmbeddingInitKind::kUniform:
      return FillUniform(init.scale, stream, values);
  }
}

// parameters: [shape.offsets().size] numbers of 0.
template <typename T>
void Fill(const KgeShape& shape, uint64_t seed, absl::Span<T> parameters) {
  const bool glorot = shape.options.variant == ConveVariant::kTiepin;
  const auto kernel = static_cast<double>(shape.options.kernel_height * shape.options.kernel_width);
  const auto features = static_cast<double>(shape.num_features()), dim = static_cast<double>(shape.dim());
  for (const ParameterSlice& slice : shape.Slices()) {
    const int64_t size = slice.num_elements();
    const absl::Span<T> values = parameters.subspan(slice.offset, size);
    const RandomStream stream(seed, absl::StrCat("kge_init.", slice.name));
    if (slice.name == "relation.weight" && shape.options.model == KgeModel::kRotatE) {
      FillUniform(kPi, stream, values);
    } else if (slice.name == "entity.weight" || slice.name == "relation.weight") {
      FillEmbeddings(shape.options.init, slice, stream, values);
    } else if (slice.name == "core.weight") {
      FillUniform(1, stream, values);  // as in the program of TuckER's authors
    } else if (slice.name == "conv.weight" && glorot) {
      const double outputs = static_cast<double>(slice.shape[0]) * kernel;
      FillNormal(std::sqrt(2 / (kernel + outputs)), stream, values);
    } else if (slice.name == "fc.weight" && glorot) {
      FillNormal(std::sqrt(2 / (features + dim)), stream, values);
    } else if (absl::StartsWith(slice.name, "conv.")) {
      FillUniform(1 / std::sqrt(kernel), stream, values);
    } else if (absl::StartsWith(slice.name, "fc.")) {
      FillUniform(1 / std::sqrt(features), stream, values);
    } else if (absl::StartsWith(slice.name, "bn")) {
      const bool one = absl::EndsWith(slice.name, ".weight") || absl::EndsWith(slice.name, ".running_var");
      std::fill(values.begin(), values.end(), one ? T(1) : T(0));
    }
  }
}

}  // namespace

std::vector<double> InitialKgeParameters(const KgeShape& shape, uint64_t seed) {
  std::vector<double> parameters(shape.offsets().size, 0.0);
  Fill(shape, seed, absl::MakeSpan(parameters));
  return parameters;
}

Tensor InitialKgeTensor(const KgeShape& shape, uint64_t seed, DType dtype) {
  Tensor parameters = Tensor::Zeros(dtype, {shape.offsets().size});
  if (dtype == DType::kF64) {
    Fill(shape, seed, parameters.mutable_values<double>());
  } else {
    Fill(shape, seed, parameters.mutable_values<float>());
  }
  return parameters;
}

}  // namespace rutile
