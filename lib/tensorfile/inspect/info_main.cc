// Prints the content of tensor files:  info [--full] [--verify] FILE...

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/inspect/tensor_statistics.h"
#include "lib/tensorfile/tensor_reader.h"

namespace {

constexpr char kUsage[] =
    "usage: info [--full] [--verify] FILE...\n"
    "Prints the metadata and the tensors of safetensors files; - is standard input.\n"
    "  --full    long metadata values and checksums too\n"
    "  --verify  check the CRC32C of each tensor that has one\n"
    "Exit status: 0, or 1 when a file cannot be read or is not right.\n";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  rutile::TensorReadOptions options;
  options.verify_checksums = false;
  bool full = false;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--full") {
      full = true;
    } else if (argument == "--verify") {
      options.verify_checksums = true;
    } else if (absl::StartsWith(argument, "-") && argument != "-") {
      std::fprintf(stderr, "info: unknown flag %s\n%s", argv[i], kUsage);
      return 1;
    } else {
      paths.emplace_back(argument);
    }
  }
  if (paths.empty()) {
    std::fprintf(stderr, "info: no file given\n%s", kUsage);
    return 1;
  }
  int exit_status = 0;
  for (const std::string& path : paths) {
    const auto file = rutile::ReadTensorFile(path, options);
    if (file.ok()) {
      std::fputs(rutile::DescribeTensorFile(*file, full).c_str(), stdout);
    } else {
      std::fprintf(stderr, "info: %s\n", std::string(file.status().message()).c_str());
      exit_status = 1;
    }
  }
  return exit_status;
}
