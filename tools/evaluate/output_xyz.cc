#include "tools/evaluate/output_xyz.h"

#include <gflags/gflags.h>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_xyz.h"
#include "lib/trace/scope.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    output_xyz, "",
    "File for the structures with their predictions, as extended XYZ that ASE reads. Empty: none is written.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<XyzOutput>> XyzOutput::FromFlags() {
  if (FLAGS_output_xyz.empty()) return nullptr;
  if (FLAGS_output_xyz == "-") {
    return absl::InvalidArgumentError(
        "--output_xyz=-: standard output has the table of errors: name a file (./- for one of that name)");
  }
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(FLAGS_output_xyz));
  return absl::WrapUnique(new XyzOutput(std::move(file)));
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
  PrintMessage(absl::StrCat("wrote ", FLAGS_output_xyz, ": ", count_, " structures"));
  return absl::OkStatus();
}

}  // namespace rutile
