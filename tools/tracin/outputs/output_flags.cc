#include "tools/tracin/outputs/output_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/outputs/tiepin_output_flags.h"

DEFINE_string(
    output, "",
    "influence.safetensors: scores, listed examples, self-influence. - is standard output. With --mode=curvature "
    "the file of the curvature.");
DEFINE_bool(skip_existing, false,
            "Write only files that are missing. Tests whose own files are there already (--output_per_triple, "
            "--csv_output of several tests) are left out, unless a file of all tests is missing.");

namespace rutile {
namespace {

// Splits a path into stem and extension with its dot, like Python's pathlib.
std::pair<absl::string_view, absl::string_view> SplitExtension(absl::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t begin = slash == absl::string_view::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  if (dot == absl::string_view::npos || dot <= begin) return {path, ""};
  return {path.substr(0, dot), path.substr(dot)};
}

}  // namespace

std::string OutputFlags::CsvOf(int64_t test, size_t num_tests) const {
  if (num_tests == 1) return csv_output;
  const auto [stem, extension] = SplitExtension(csv_output);
  return absl::StrCat(stem, "_test_", test, extension);
}

std::string OutputFlags::JsonOf(int64_t test) const {
  const size_t slash = json_output.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : json_output.substr(0, slash + 1);
  return absl::StrCat(folder, "tracin_test_", test, ".json");
}

std::vector<std::string> OutputFlags::SharedFiles(size_t num_tests) const {
  std::vector<std::string> files;
  if (!output.empty()) files.push_back(output);
  if (!csv_output.empty() && num_tests == 1) files.push_back(csv_output);
  if (!json_output.empty() && !per_triple) files.push_back(json_output);
  return files;
}

std::vector<std::string> OutputFlags::FilesOf(int64_t test, size_t num_tests) const {
  std::vector<std::string> files;
  if (!csv_output.empty() && num_tests > 1) files.push_back(CsvOf(test, num_tests));
  if (!json_output.empty() && per_triple) files.push_back(JsonOf(test));
  return files;
}

bool OutputFlags::Keeps(const std::string& path) const { return skip_existing && path != "-" && FileExists(path); }

absl::StatusOr<OutputFlags> OutputFlagsFromFlags(const TracinFlags& flags) {
  OutputFlags outputs = {FLAGS_output, FLAGS_csv_output, FLAGS_json_output, FLAGS_output_per_triple,
                         FLAGS_skip_existing};
  if (flags.mode == TracinMode::kSelf) {
    RETURN_IF_ERROR(RefuseFlags("with --self", {"csv_output", "output_per_triple"}));
  }
  if (flags.mode == TracinMode::kCurvature && !outputs.has_file()) {
    return absl::InvalidArgumentError(
        "--mode=curvature needs --output=FILE, which evaluate --uncertainty reads; standard output (-) will not do");
  }
  if (flags.aggregate) {
    RETURN_IF_ERROR(RefuseFlags("with --aggregate, where there is one test", {"csv_output", "output_per_triple"}));
    RETURN_IF_ERROR(RefuseFlags("with --aggregate: the sum of tests is no triple", {"json_output"}));
  }
  if (outputs.json_output.empty()) RETURN_IF_ERROR(RefuseFlags("without --json_output", {"output_per_triple"}));
  if (outputs.output.empty() && outputs.csv_output.empty() && outputs.json_output.empty()) {
    RETURN_IF_ERROR(RefuseFlags("without an output file", {"skip_existing"}));
  }
  if (outputs.per_triple && outputs.json_output == "-") {
    return absl::InvalidArgumentError(
        "--json_output=-: expected a file with --output_per_triple, whose files are beside it");
  }
  if (flags.resume && !outputs.has_file()) {
    return absl::InvalidArgumentError("--resume needs --output: what was done is kept beside it");
  }
  if (flags.num_shards > 1 && flags.part.empty() && outputs.output.empty()) {
    return absl::InvalidArgumentError("--shard needs --output: a file that --merge can read");
  }
  return outputs;
}

absl::Status CheckCsvOfTests(const OutputFlags& outputs, size_t num_tests) {
  if (outputs.csv_output != "-" || num_tests < 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--csv_output=-: standard output is for a single test, and there are ",
                                                 num_tests, ", whose files are NAME_test_I.csv: give a name"));
}

std::optional<std::vector<int64_t>> TestsToDo(const OutputFlags& outputs, const std::vector<int64_t>& tests) {
  if (!outputs.skip_existing) return tests;
  const auto is_missing = [&](const std::string& path) { return !outputs.Keeps(path); };
  const auto lacks = [&](const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_missing);
  };
  if (lacks(outputs.SharedFiles(tests.size()))) return tests;
  std::vector<int64_t> left;
  for (const int64_t test : tests) {
    if (lacks(outputs.FilesOf(test, tests.size()))) left.push_back(test);
  }
  if (left.empty()) return std::nullopt;
  return left;
}

absl::Status CheckExisting(const OutputFlags& outputs, const std::vector<int64_t>& tests,
                           const InfluenceDescription& description) {
  if (!outputs.skip_existing) return absl::OkStatus();
  const auto other = [](const std::string& path, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("--skip_existing: ", path, " answers another question, ", what,
                                                   ": remove it, or write to another folder"));
  };
  if (outputs.has_file() && FileExists(outputs.output)) {
    ASSIGN_OR_RETURN(const InfluenceFile file, ReadInfluence(outputs.output));
    const std::string difference = DescriptionDifference(file.description, description, /*with_shard=*/true);
    const bool is_same = QuestionSha256(file.description) == QuestionSha256(description) &&
                         file.description.test_names == description.test_names &&
                         file.description.shard == description.shard &&
                         file.description.num_shards == description.num_shards;
    if (!is_same) return other(outputs.output, absl::StrCat("with other ", difference));
  }
  const std::string question = QuestionSha256(description);
  for (const int64_t test : tests) {
    const std::string path = outputs.JsonOf(test);
    if (!outputs.per_triple || !FileExists(path)) continue;
    ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
    const absl::string_view text = contents.data();
    const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("question_sha256") || json["question_sha256"] == question) continue;
    return other(path, "of other checkpoints, data or flags");
  }
  return absl::OkStatus();
}

}  // namespace rutile
