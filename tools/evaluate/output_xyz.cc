#include "tools/evaluate/output_xyz.h"

#include <gflags/gflags.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_xyz.h"
#include "lib/file/line_reader.h"
#include "lib/structure/extxyz/extxyz_keys.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/trace/scope.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    output_xyz, "",
    "File for the structures with their predictions, as extended XYZ that ASE reads. Empty: none is written.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr size_t kBufferBytes = 1 << 20;

// Columns of atoms that are read, or that evaluate writes anew.
constexpr absl::string_view kOwnColumns[] = {"species",        "element",      "Z",          "numbers",
                                             "atomic_numbers", "pos",          "forces",     "energies",
                                             "forces_spread",  "energies_std", "forces_std", "outside"};

// Returns the columns of atoms that the first frame of a file of extended XYZ has beside those and the forces that are
// read, under force_key or, if it has none of that name, under the first usual one; none of other files, and of those
// that can be read once.
std::vector<std::string> OtherColumns(const std::string& path, std::string force_key) {
  struct stat status = {};
  if (path == "-" || LooksLikeTensorFile(path) || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  absl::StatusOr<LineReader> lines = LineReader::Open(path);
  absl::string_view line;
  int64_t atoms = 0;
  if (!lines.ok() || !lines->Next(&line) || !absl::SimpleAtoi(line, &atoms) || !lines->Next(&line)) return {};
  constexpr absl::string_view kProperties = "Properties=";
  const size_t found = line.find(kProperties);
  if (found == absl::string_view::npos) return {};
  line.remove_prefix(found + kProperties.size());
  if (!line.empty() && line[0] == '"') line.remove_prefix(1);
  const std::vector<absl::string_view> parts = absl::StrSplit(line.substr(0, line.find_first_of("\" \t")), ':');
  std::vector<std::string> names;
  for (size_t i = 0; i + 2 < parts.size(); i += 3) names.emplace_back(parts[i]);
  const auto has = [&](absl::string_view name) { return std::count(names.begin(), names.end(), name) > 0; };
  const auto usual = std::find_if(std::begin(kForceKeys), std::end(kForceKeys), has);
  if (!has(force_key) && usual != std::end(kForceKeys)) force_key = std::string(*usual);
  const auto is_own = [&](const std::string& name) {
    return name == force_key || std::count(std::begin(kOwnColumns), std::end(kOwnColumns), name) > 0;
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_own), names.end());
  return names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<XyzOutput>> XyzOutput::FromFlags(const Models& models,
                                                                absl::Span<const std::string> inputs) {
  if (FLAGS_output_xyz.empty()) return nullptr;
  if (FLAGS_output_xyz == "-") {
    return absl::InvalidArgumentError(
        "--output_xyz=-: standard output has the table of errors: name a file (./- for one of that name)");
  }
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(FLAGS_output_xyz));
  auto output = absl::WrapUnique(new XyzOutput(std::move(file)));
  ASSIGN_OR_RETURN(const LabelKeys recorded, RecordedLabels(models));
  std::string force_key;
  gflags::GetCommandLineOption("force_key", &force_key);
  if (const auto found = recorded.find("force_key"); found != recorded.end() && !FlagGiven("force_key")) {
    force_key = found->second;
  }
  for (const std::string& input : inputs) {
    output->left_out_ = OtherColumns(input, force_key);
    output->left_out_of_ = input;
    if (!output->left_out_.empty()) break;
  }
  return output;
}

absl::Status XyzOutput::Add(const PredictedStructure& predicted) {
  const ProfileScope scope(Stage::kWrite);
  const bool finite =
      AppendPredictionXyz(predicted.structure, predicted.prediction, predicted.outside, predicted.number, &buffer_);
  if (!finite && not_finite_++ == 0) first_not_finite_ = predicted.structure.name;
  ++count_;
  if (buffer_.size() < kBufferBytes) return absl::OkStatus();
  RETURN_IF_ERROR(file_.Append(buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status XyzOutput::Commit() {
  const ProfileScope scope(Stage::kWrite);
  RETURN_IF_ERROR(file_.Append(buffer_));
  RETURN_IF_ERROR(file_.Commit());
  if (not_finite_ > 0) {
    PrintWarning(absl::StrCat(FLAGS_output_xyz, ": ", not_finite_, " of ", count_,
                              " structures have predictions that are not finite (", first_not_finite_,
                              " is the first); such quantities are left out of their frames"));
  }
  if (!left_out_.empty()) {
    PrintMessage(absl::StrCat(FLAGS_output_xyz, ": has no columns of atoms that evaluate does not know, as those of ",
                              left_out_of_, ": ", absl::StrJoin(left_out_, ", ")));
  }
  PrintMessage(absl::StrCat("wrote ", FLAGS_output_xyz, ": ", count_, " structures"));
  return absl::OkStatus();
}

}  // namespace rutile
