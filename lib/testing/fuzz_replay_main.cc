// main() that makes a fuzz target an ordinary test: it runs the target on each file of its arguments, files or
// directories. With RUTILE_FUZZING defined, libFuzzer has its own main() (CONTRIBUTING.md has the command).
//
//   x_fuzz_test [--random=N] [--first=NUMBER] [--longest=BYTES] FILE...
//
// --random runs the target on N more inputs: files of the arguments, or pieces of --longest (4096) bytes of longer
// ones, with up to eight random edits. It knows nothing of coverage, but needs no instrumentation. An input depends on
// the files, --longest and its number alone, from --first (0) on; the number of one that ends the process is printed.

#ifndef RUTILE_FUZZING

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/testing/damaged_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

volatile int64_t current_input = -1;

// Names the input that ends the process, which allocates no memory.
void OnEnd(int signal_number) {
  char text[64] = "the random input is --first=";
  size_t at = std::strlen(text);
  char digits[24];
  int count = 0;
  for (int64_t n = current_input; n > 0 || count == 0; n /= 10) digits[count++] = static_cast<char>('0' + n % 10);
  while (count > 0) text[at++] = digits[--count];
  text[at++] = '\n';
  if (::write(STDERR_FILENO, text, at) < 0) std::_Exit(1);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void RunRandom(const std::vector<std::string>& inputs, int64_t first, int64_t count, size_t longest) {
  for (const int signal_number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal_number, OnEnd);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t n = first; n < first + count; ++n) {
    current_input = n;
    std::mt19937_64 random(n);
    std::vector<uint8_t> edits(4 * (1 + random() % 8));
    for (uint8_t& byte : edits) byte = static_cast<uint8_t>(random());
    const std::string& input = inputs[random() % inputs.size()];
    const size_t begin = input.size() > longest ? random() % (input.size() - longest) : 0;
    Run(rutile::Damaged(absl::string_view(input).substr(begin, longest), edits));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%lld random inputs, %.0f a second\n", static_cast<long long>(count),
              static_cast<double>(count) / std::max(1e-9, time.count()));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs;
  int64_t random = 0, first = 0, longest = 4096;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--random=", 9) == 0) {
      random = std::atoll(argv[i] + 9);
    } else if (std::strncmp(argv[i], "--first=", 8) == 0) {
      first = std::atoll(argv[i] + 8);
    } else if (std::strncmp(argv[i], "--longest=", 10) == 0) {
      longest = std::max(1LL, std::atoll(argv[i] + 10));
    } else if (std::filesystem::is_directory(argv[i])) {
      std::vector<std::filesystem::path> paths;
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        if (!entry.is_directory()) paths.push_back(entry.path());
      }
      std::sort(paths.begin(), paths.end());
      for (const std::filesystem::path& path : paths) inputs.push_back(Read(path));
    } else {
      inputs.push_back(Read(argv[i]));
    }
  }
  if (inputs.empty()) {
    std::printf("no inputs\n");
    return 1;
  }
  if (first == 0) {
    for (const std::string& input : inputs) Run(input);
    std::printf("%zu inputs replayed\n", inputs.size());
  }
  if (random > 0) RunRandom(inputs, first, random, longest);
  return 0;
}

#endif  // RUTILE_FUZZING
