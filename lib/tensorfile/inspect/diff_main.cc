// Compares two tensor files:  diff [--rtol=R] [--atol=A] [--metadata] A B

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/inspect/tensor_diff.h"
#include "lib/tensorfile/tensor_reader.h"

namespace {

constexpr char kUsage[] =
    "usage: diff [--rtol=R] [--atol=A] [--metadata] A B\n"
    "Compares the tensors of two safetensors files by name; - is standard input, for one of them.\n"
    "  --rtol=R    values a and b are equal when |a - b| <= A + R |b| (default 0)\n"
    "  --atol=A    (default 0); NaN equals NaN\n"
    "  --metadata  compare the metadata too\n"
    "Exit status: 0 equal, 1 different, 2 when a file cannot be read or the arguments are wrong.\n";

bool ParseTolerance(absl::string_view text, double* value) {
  return absl::SimpleAtod(text, value) && *value >= 0 && std::isfinite(*value);
}

int UsageError(const std::string& what) {
  std::fprintf(stderr, "diff: %s\n%s", what.c_str(), kUsage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  rutile::TensorDiffOptions options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--metadata") {
      options.metadata = true;
    } else if (absl::StartsWith(argument, "--rtol=") || absl::StartsWith(argument, "--atol=")) {
      double* const tolerance = argument[2] == 'r' ? &options.rtol : &options.atol;
      if (!ParseTolerance(argument.substr(7), tolerance)) {
        return UsageError(std::string(argv[i]) + ": expected a number from 0 on");
      }
    } else if (absl::StartsWith(argument, "-") && argument != "-") {
      return UsageError("unknown flag " + std::string(argument));
    } else {
      paths.emplace_back(argument);
    }
  }
  if (paths.size() != 2) return UsageError("expected two files, got " + std::to_string(paths.size()));
  if (paths[0] == "-" && paths[1] == "-") return UsageError("only one of the files can be standard input");
  std::vector<rutile::TensorFile> files;
  for (const std::string& path : paths) {
    auto file = rutile::ReadTensorFile(path);
    if (!file.ok()) {
      std::fprintf(stderr, "diff: %s\n", std::string(file.status().message()).c_str());
      return 2;
    }
    files.push_back(*std::move(file));
  }
  const std::vector<std::string> differences = rutile::DiffTensorFiles(files[0], files[1], options);
  for (const std::string& difference : differences) std::printf("%s\n", difference.c_str());
  return differences.empty() ? 0 : 1;
}
