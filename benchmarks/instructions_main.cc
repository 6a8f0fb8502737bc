// instructions KERNEL runs one kernel, without LibTorch, on fixed data; without a name it prints the names.
//
// benchmarks/instruction_counts.sh counts the instructions inside MeasuredCalls() with callgrind; data are made and
// memory is warmed before, by one thread. Exit status 3 means that the processor, or what valgrind shows of it, has no
// AVX2: counts of other instruction sets are not comparable.

#include <cstdio>

#include "absl/strings/string_view.h"
#include "benchmarks/counted_kernels.h"

namespace rutile {
namespace {

int Main(int argc, char** argv) {
  if (argc == 1) {
    for (const auto& [name, measure] : CountedKernels()) std::printf("%s\n", name);
    return 0;
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 3;
  for (const auto& [name, measure] : CountedKernels()) {
    if (argc != 2 || argv[1] != absl::string_view(name)) continue;
    measure();
    return 0;
  }
  std::fprintf(stderr, "instructions: there is no such kernel; without an argument it prints the names\n");
  return 1;
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) { return rutile::Main(argc, argv); }
