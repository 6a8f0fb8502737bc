// Runs the network of one species as TorchScript: the source is generated from the shape and compiled by LibTorch.

#ifndef RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_
#define RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_

#include <string>
#include <vector>

#include "lib/network/network_shape.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Returns the source "def outputs(x: Tensor, w0: Tensor, b0: Tensor, ...) -> Tensor: ...", a function from x [n, F] and
// each layer's weights [out, in] and biases [out], all of one type, to [n] outputs.
std::string NetworkScriptSource(const NetworkShape& shape);

// Compiles the source, once per process, and runs it. pieces: weight and bias of each layer of one species. The result
// is differentiable twice. Thread-safe.
at::Tensor ScriptNetworkOutputs(const NetworkShape& shape, const std::vector<at::Tensor>& pieces, const at::Tensor& x);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_SCRIPT_H_
