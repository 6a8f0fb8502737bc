// Initial parameters of embedding models, drawn as in the projects that the variants come from.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_INIT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_INIT_H_

#include <cstdint>
#include <vector>

#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns [shape.offsets().size] numbers. Embeddings are drawn as options.init says. For variant tiepin, weights of
// conv and fc are normal with deviation sqrt(2 / (fan-in + fan-out)) (Glorot & Bengio, AISTATS 2010). Other weights,
// and biases, of conv and fc are uniform in +-1/sqrt(fan-in), as in PyTorch's modules. Norms start as the identity,
// entity biases at 0. Each slice has its own random stream, so that another size of one slice does not change the
// others.
std::vector<double> InitialKgeParameters(const KgeShape& shape, uint64_t seed);

// Returns the same numbers as a tensor, rounded if dtype is F32; CHECK-fails unless it is that or F64. Beside the
// tensor it takes no memory, of which a table of millions of entities has none to spare.
Tensor InitialKgeTensor(const KgeShape& shape, uint64_t seed, DType dtype);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_INIT_H_
