// main() that makes a fuzz target an ordinary test: it runs the target on each file of its arguments, files or
// directories. With RUTILE_FUZZING defined, libFuzzer has its own main() (CONTRIBUTING.md has the command).

#ifndef RUTILE_FUZZING

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        if (!entry.is_directory()) Replay(entry.path()), ++count;
      }
    } else {
      Replay(argv[i]), ++count;
    }
  }
  std::printf("%d inputs replayed\n", count);
  return count == 0 ? 1 : 0;
}

#endif  // RUTILE_FUZZING
