// The network of a species as TorchScript: source generated from the shape, compiled by LibTorch.

#ifndef RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_
#define RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_

#include <string>
#include <vector>

#include "lib/network/network_shape.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// "def outputs(x: Tensor, w0: Tensor, b0: Tensor, ...) -> Tensor: ...": [n] of x [n, F], weights [out, in] and biases
// [out] of each layer, all of one type.
std::string NetworkScriptSource(const NetworkShape& shape);

// Runs it. Each source is compiled once in the process. pieces: weight and bias of each layer of one species.
// Differentiable twice. Thread-safe.
at::Tensor ScriptNetworkOutputs(const NetworkShape& shape, const std::vector<at::Tensor>& pieces, const at::Tensor& x);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_
