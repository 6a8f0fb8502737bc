#include "lib/tensorfile/state_tensor.h"

#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

std::string Describe(const Tensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), " [", absl::StrJoin(tensor.shape(), ", "), "]");
}

}  // namespace

absl::Status CheckStateTensor(const NamedTensors& state, absl::string_view name, const Tensor& like) {
  const Tensor* tensor = state.Find(name);
  if (tensor == nullptr) return absl::InvalidArgumentError(absl::StrCat("no tensor \"", name, "\""));
  if (tensor->dtype() == like.dtype() && tensor->shape() == like.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor \"", name, "\" is ", Describe(*tensor), ", expected ", Describe(like)));
}

void CopyStateTensor(const NamedTensors& state, absl::string_view name, Tensor* to) {
  const Tensor& from = state.At(name);
  CHECK(from.dtype() == to->dtype() && from.shape() == to->shape()) << name;
  if (from.num_bytes() > 0) std::memcpy(to->mutable_data(), from.data(), from.num_bytes());
}

}  // namespace rutile
