// The flags of train that say in which type, and on which device, LibTorch computes.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_PRECISION_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_PRECISION_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// What --precision, --mixed_precision and --float32_matmul_precision ask of kernels that can round factors, where the
// other flags leave it to them. INVALID_ARGUMENT where the processor has no instructions for it, and for what is called
// otherwise here.
absl::StatusOr<FactorRounding> KernelRoundingFromFlags(const TrainerOptions& options);

// Returns the rounding of potentials' kernels, which have mixed precision alone: kBf16 or kNone. Where there is a CUDA
// device and --compile_mode is not given, mixed precision is left to it, as what is not on offer is to LibTorch.
absl::StatusOr<FactorRounding> PotentialRoundingFromFlags(const TrainerOptions& options);

// True if --device is neither auto nor cpu.
bool AsksForGpu();

// Returns CUDA's number of the GPU on which kernels train: with --device=cuda or cuda:N, where this
// program has such kernels and the other flags leave the work to kernels. Else -1. The first of the GPUs, or one for
// each of several processes, if the flag does not say which. INVALID_ARGUMENT if there is no such GPU.
// rounds: those kernels can round factors, too, as GpuRoundingFromFlags says.
absl::StatusOr<int> KernelGpuFromFlags(const TrainerOptions& options, bool rounds);
// What --precision, --mixed_precision and --float32_matmul_precision ask of kernels of a GPU that round factors:
// kTwoParts for high (each factor as two TF32 numbers), kBf16 for mixed precision. INVALID_ARGUMENT for high in fp64,
// and for lbfgs in 16 bits.
absl::StatusOr<FactorRounding> GpuRoundingFromFlags(const TrainerOptions& options);

// From --precision, --mixed_precision, --float32_matmul_precision and --device. kernels: what KernelRoundingFromFlags
// says, kNone where kernels are fp32 or fp64 alone. kernels_on_gpu: KernelGpuFromFlags has found a GPU for them. What
// the kernels lack takes options->compile_mode to kNone, unless --compile_mode was given. Adds to `messages` what was
// chosen so, and what to expect of it. INVALID_ARGUMENT naming flags that exclude each other, and what LibTorch or the
// machine lacks.
absl::Status SetEagerFromFlags(FactorRounding kernels, bool kernels_on_gpu, TrainerOptions* options,
                               std::vector<std::string>* messages);

// Says where 16 bits do not pay, of networks with these hidden layers: on this processor, of the kernels or of
// LibTorch.
void NoteNarrowNetworks(const std::vector<int>& hidden, FactorRounding kernels, const TrainerOptions& options,
                        std::vector<std::string>* messages);

// Returns the type of the parameters by --precision, where auto is fp64 for data in fp64. INVALID_ARGUMENT where fp64
// data and a flag for fp32 meet. kernels: as in SetEagerFromFlags.
absl::StatusOr<DType> PrecisionFromFlags(bool data64, FactorRounding kernels, const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_PRECISION_FLAGS_H_
