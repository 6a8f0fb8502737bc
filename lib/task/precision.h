// In which numbers a program computes: one enum and one table of names for all tools. Whoever reads the text converts
// it once; files and messages name a precision by kPrecisionNames.

#ifndef RUTILE_LIB_TASK_PRECISION_H_
#define RUTILE_LIB_TASK_PRECISION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class Precision {
  kAuto,  // that of the data or the parameters
  kFp32,
  kFp64,
  kBf16,       // factors of large products are rounded to bfloat16 where accuracy allows
  kBf16Mixed,  // the networks' products have factors in bfloat16; parameters, losses, sums and optimizers are fp32
  kFp16Mixed,  // the same with half precision
};

inline constexpr absl::string_view kPrecisionWords[] = {"auto", "fp32", "fp64", "bf16", "bf16-mixed", "fp16-mixed"};
inline constexpr EnumNames<Precision> kPrecisionNames("no precision is called", kPrecisionWords);

inline constexpr bool IsMixed(Precision precision) {
  return precision == Precision::kBf16Mixed || precision == Precision::kFp16Mixed;
}

// The precision of numbers that are all of the type: kFp64 for F64, else kFp32.
inline constexpr Precision PrecisionOf(DType dtype) {
  return dtype == DType::kF64 ? Precision::kFp64 : Precision::kFp32;
}
// The type of parameters: F64 for kFp64, else F32.
inline constexpr DType DTypeOf(Precision precision) {
  return precision == Precision::kFp64 ? DType::kF64 : DType::kF32;
}

// A tool or task offers some of the precisions. INVALID_ARGUMENT for another name: "expected fp32, fp64 or bf16-mixed".
absl::StatusOr<Precision> ParsePrecision(absl::string_view name, absl::Span<const Precision> choices);

// How products of fp32 factors round them: to bfloat16 with kBf16 and kBf16Mixed, else not at all. What kFp16Mixed
// rounds is LibTorch's alone, whatever it does to the rest.
inline constexpr FactorRounding RoundingOf(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kBf16Mixed ? FactorRounding::kBf16
                                                                             : FactorRounding::kNone;
}
// The precision of training with parameters of the type whose products round factors so: the inverse of RoundingOf.
// kTwoParts is that of fp32, with other products.
inline constexpr Precision TrainingPrecision(DType dtype, FactorRounding rounding) {
  return rounding == FactorRounding::kBf16 ? Precision::kBf16Mixed : PrecisionOf(dtype);
}

// The roundings by the names that PyTorch has for them, where "high" is TF32 on GPUs.
inline constexpr absl::string_view kMatmulPrecisionWords[] = {"highest", "high", "medium"};
inline constexpr EnumNames<FactorRounding> kMatmulPrecisionNames("no precision of products is called",
                                                                 kMatmulPrecisionWords);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_PRECISION_H_
