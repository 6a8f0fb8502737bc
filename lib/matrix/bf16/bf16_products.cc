#include "lib/matrix/bf16/bf16_products.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/matrix/bf16/bf16_number.h"

namespace rutile {
namespace {

void MultiplyIn(Bf16Form form, const Bf16Problem& problem, Bf16Memory* memory) {
  switch (form) {
    case Bf16Form::kAmx:
      return MultiplyBf16Amx(problem, memory);
    case Bf16Form::kAvx512:
      return MultiplyBf16Avx512(problem, memory);
    case Bf16Form::kPortable:
      return MultiplyBf16Portable(problem, memory);
  }
}

// Copies of the parts of a factor: the rounded factor, the rounded rest, and so on.
struct Copies {
  std::vector<std::vector<float>> parts;
  int64_t height, width;
  MatrixView<float> Of(int part) const { return {parts[part].data(), height, width, width}; }
};

Copies CopiesOf(const MatrixView<float>& factor, int parts) {
  Copies copies = {std::vector<std::vector<float>>(parts), factor.height(), factor.width()};
  for (int64_t i = 0; i < copies.height; ++i) {
    for (int64_t j = 0; j < copies.width; ++j) {
      float x = *factor.At(i, j);
      for (std::vector<float>& part : copies.parts) {
        part.push_back(FromBf16(RoundToBf16(x)));
        x -= part.back();
      }
    }
  }
  return copies;
}

// Computes a product of several parts as a sum of products of one part.
void MultiplyCopies(Bf16Form form, const Bf16Problem& problem, Bf16Memory* memory) {
  const Copies a = CopiesOf(problem.a, problem.parts), b = CopiesOf(problem.b, problem.parts);
  bool add = problem.add;
  for (int sum = problem.parts - 1; sum >= 0; --sum) {  // small terms first
    for (int part = 0; part <= sum; ++part, add = true) {
      MultiplyIn(form, {a.Of(part), b.Of(sum - part), add, problem.out, problem.stride}, memory);
    }
  }
}

}  // namespace

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

Bf16Products::Bf16Products(int parts) : Bf16Products(Bf16Forms().front(), parts) {}

Bf16Products::Bf16Products(Bf16Form form, int parts) : form_(form), parts_(parts) {
  CHECK(parts >= 1 && parts <= kMostBf16Parts) << parts;
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
  const Bf16Problem problem = {a, b, add, out, stride, parts_};
  if (parts_ > 1 && form_ != Bf16Form::kAmx) return MultiplyCopies(form_, problem, &memory_);
  MultiplyIn(form_, problem, &memory_);
}

}  // namespace rutile
