#include "lib/network/network_script.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/jit.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

const char* ActivationSource(Activation activation) {
  switch (activation) {
    case Activation::kLinear:
      return "h";
    case Activation::kTanh:
      return "torch.tanh(h)";
    case Activation::kSigmoid:
      return "torch.sigmoid(h)";
    case Activation::kMtanh:
      return "1.7159 * torch.tanh(h * (2.0 / 3.0))";
    case Activation::kTwist:
      return "1.7159 * torch.tanh(h * (2.0 / 3.0)) + 0.1 * h";
    case Activation::kSilu:
      return "h * torch.sigmoid(h)";
  }
  LOG(FATAL) << "no such activation: " << static_cast<int>(activation);
}

using Compiled = std::shared_ptr<torch::jit::CompilationUnit>;

Compiled CompiledNetwork(const NetworkShape& shape) {
  static auto* const mutex = new absl::Mutex;
  static auto* const compiled = new std::map<std::pair<int, Activation>, Compiled>;
  const absl::MutexLock lock(mutex);
  // The source does not contain sizes, so that networks of equal depth and activation share it.
  Compiled& unit = (*compiled)[{shape.num_layers(), shape.activation}];
  if (unit == nullptr) unit = torch::jit::compile(NetworkScriptSource(shape));
  return unit;
}

}  // namespace

std::string NetworkScriptSource(const NetworkShape& shape) {
  std::string source = "def outputs(x: Tensor";
  for (int layer = 0; layer < shape.num_layers(); ++layer) {
    absl::StrAppend(&source, ", w", layer, ": Tensor, b", layer, ": Tensor");
  }
  absl::StrAppend(&source, ") -> Tensor:\n  h = x\n");
  for (int layer = 0; layer < shape.num_layers(); ++layer) {
    absl::StrAppend(&source, "  h = torch.addmm(b", layer, ", h, w", layer, ".t())\n");
    if (layer + 1 < shape.num_layers()) absl::StrAppend(&source, "  h = ", ActivationSource(shape.activation), "\n");
  }
  return absl::StrCat(source, "  return h.view([-1])\n");
}

at::Tensor ScriptNetworkOutputs(const NetworkShape& shape, const std::vector<at::Tensor>& pieces, const at::Tensor& x) {
  CHECK_EQ(static_cast<int>(pieces.size()), 2 * shape.num_layers());
  torch::jit::Stack stack = {x};
  stack.insert(stack.end(), pieces.begin(), pieces.end());
  CompiledNetwork(shape)->get_function("outputs").run(stack);
  return stack.back().toTensor();
}

}  // namespace rutile
