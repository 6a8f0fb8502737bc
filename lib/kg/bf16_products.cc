#include "lib/kg/bf16_products.h"

#include <algorithm>

#include "lib/base/logging.h"

namespace rutile {

absl::string_view Bf16FormName(Bf16Form form) {
  switch (form) {
    case Bf16Form::kAmx:
      return "AMX-BF16";
    case Bf16Form::kAvx512:
      return "AVX512-BF16";
    case Bf16Form::kPortable:
      return "portable";
  }
  return "";
}

std::vector<Bf16Form> Bf16Forms() {
  std::vector<Bf16Form> forms;
  if (HasBf16Amx()) forms.push_back(Bf16Form::kAmx);
  if (HasBf16Avx512()) forms.push_back(Bf16Form::kAvx512);
  forms.push_back(Bf16Form::kPortable);
  return forms;
}

Bf16Products::Bf16Products() : Bf16Products(Bf16Forms().front()) {}

Bf16Products::Bf16Products(Bf16Form form) : form_(form) {
  const std::vector<Bf16Form> forms = Bf16Forms();
  CHECK(std::find(forms.begin(), forms.end(), form) != forms.end()) << "this machine has no " << Bf16FormName(form);
}

void Bf16Products::Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out,
                            int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), 0.0f);
  }
  if (a.height() == 0 || b.width() == 0 || a.width() == 0) return;
  const Bf16Problem problem = {a, b, add, out, stride};
  switch (form_) {
    case Bf16Form::kAmx:
      return MultiplyBf16Amx(problem, &memory_);
    case Bf16Form::kAvx512:
      return MultiplyBf16Avx512(problem, &memory_);
    case Bf16Form::kPortable:
      return MultiplyBf16Portable(problem, &memory_);
  }
}

}  // namespace rutile
