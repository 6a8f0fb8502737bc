// Initial parameters of embedding models, as the projects draw them that the variants come from.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_INIT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_INIT_H_

#include <cstdint>
#include <vector>

#include "lib/kge/model/kge_shape.h"

namespace rutile {

// [shape.offsets().size]. Embeddings are normal with deviation sqrt(2 / (rows + columns)) (Glorot & Bengio, AISTATS
// 2010), for variant tiepin also the weights of conv and fc. Other weights, and biases, of conv and fc are uniform in
// +-1/sqrt(inputs of an output), as PyTorch's modules draw them. Norms begin as the identity, entity biases at 0. Each
// slice has its own random stream: another size of one leaves the others as they were.
std::vector<double> InitialKgeParameters(const KgeShape& shape, uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_INIT_H_
