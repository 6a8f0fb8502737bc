// Dropout masks as a function of (seed, epoch, example, layer), or of (seed, epoch, batch, entity), so that they are
// the same in any order, thread or process.

#ifndef RUTILE_LIB_KGE_LAYERS_DROPOUT_H_
#define RUTILE_LIB_KGE_LAYERS_DROPOUT_H_

#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

enum class DropoutLayer : uint64_t { kInput, kFeatureMap, kOutput, kHead, kRelation };

// Sets scale[k] = 0 with probability `rate` (to 2^-16), else 1 / (1 - rate); rate in [0, 1). The generator is
// counter-based: element k of an example does not depend on the number of elements.
template <typename T>
void FillDropout(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer, double rate, absl::Span<T> scale);

// Returns what the masks above follow from, and those below for all entities of a batch: kernels of GPUs compute masks
// themselves (lib/kge/gpu/bodies/dropout_bodies-inl.h).
uint64_t DropoutKey(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer);
uint64_t CandidateDropoutKey(uint64_t seed, int64_t epoch, int64_t number);

// The same for row `entity` of the table with which all queries of a batch are scored. `number` is the batch's in its
// epoch: the queries of a batch share a mask, and each batch has its own.
template <typename T>
void FillCandidateDropout(uint64_t seed, int64_t epoch, int64_t number, int64_t entity, double rate,
                          absl::Span<T> scale);

extern template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<float>);
extern template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<double>);
extern template void FillCandidateDropout(uint64_t, int64_t, int64_t, int64_t, double, absl::Span<float>);
extern template void FillCandidateDropout(uint64_t, int64_t, int64_t, int64_t, double, absl::Span<double>);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_DROPOUT_H_
