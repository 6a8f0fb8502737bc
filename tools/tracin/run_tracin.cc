#include "tools/tracin/run_tracin.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/influence/files/influence_file.h"
#include "lib/trace/scope.h"
#include "tools/common/run/exec_sibling_binary.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/flags_of_other_programs.h"
#include "tools/tracin/graphs/kge_domain.h"
#include "tools/tracin/influence_run.h"
#include "tools/tracin/judge/judge_flags.h"
#include "tools/tracin/judge/run_judge.h"
#include "tools/tracin/outputs/output_flags.h"
#include "tools/tracin/parameter_flags.h"
#include "tools/tracin/potentials/potential_domain.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {
namespace {

// The binary that links LibTorch.
constexpr char kVerifyProgram[] = "tracin-verify";

absl::StatusOr<std::unique_ptr<InfluenceDomain>> MakeDomain(const ToolRun& run, const TracinFlags& flags, bool is_kge,
                                                            const CheckpointSet* checkpoint_set,
                                                            const InfluenceReferences* references) {
  if (is_kge) {
    if (flags.mode == TracinMode::kLeaveOneOut || flags.mode == TracinMode::kCurvature) {
      return absl::InvalidArgumentError(
          "--mode=leave-one-out and --mode=curvature are for structures, and these are triples");
    }
    RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kPotentials, "with triples"));
    return MakeKgeDomain(flags, checkpoint_set, references == nullptr ? nullptr : references->kge);
  }
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kEmbeddings, "with structures: it is for triples"));
  return MakePotentialDomain(run, flags, checkpoint_set, references == nullptr ? nullptr : references->potential);
}

absl::Status Merge(const ToolRun& run, TracinFlags flags, const OutputFlags& outputs) {
  RETURN_IF_ERROR(RefuseParameterFlags("with --merge, which computes nothing"));
  if (run.args.empty()) return absl::InvalidArgumentError("--merge needs influence files; see tracin --help");
  const bool tiepin = !outputs.csv_output.empty() || !outputs.json_output.empty();
  if (flags.train.empty()) {
    if (tiepin || !flags.test.empty()) {
      return absl::InvalidArgumentError("--merge: names of examples are in their files: give --train, too");
    }
    constexpr char kWhy[] = "with --merge without --train";
    RETURN_IF_ERROR(RefuseFlags(kWhy, {"model"}));
    for (const FlagDomain domain : {FlagDomain::kEmbeddings, FlagDomain::kPotentials}) {
      RETURN_IF_ERROR(RefuseFlagsFor(domain, kWhy));
    }
    return MergeRuns(run, outputs, nullptr);
  }
  if (tiepin && flags.test.empty()) {
    return absl::InvalidArgumentError("--merge: the names of tests are in their files: give --test, too");
  }
  ASSIGN_OR_RETURN(const InfluenceFile file, ReadInfluence(run.args[0]));
  const bool is_kge = file.description.model != "atomistic";
  flags.merged_quantity = file.description.test_quantity;
  ASSIGN_OR_RETURN(const std::unique_ptr<InfluenceDomain> domain, MakeDomain(run, flags, is_kge, nullptr, nullptr));
  return MergeRuns(run, outputs, domain.get());
}

}  // namespace

absl::Status RunTracin(const ToolRun& run, const InfluenceReferences* references) {
  ASSIGN_OR_RETURN(const JudgeFlags judge, JudgeFlagsFromFlags());
  if (judge.mode != JudgeMode::kNone) return RunJudge(run, judge);
  ASSIGN_OR_RETURN(const TracinFlags flags, TracinFlagsFromFlags());
  ASSIGN_OR_RETURN(const OutputFlags outputs, OutputFlagsFromFlags(flags));
  if (flags.mode == TracinMode::kMerge) return Merge(run, flags, outputs);
  if (flags.verify > 0 && references == nullptr)
    return ExecSiblingBinary(run, kVerifyProgram, "--verify needs LibTorch");
  ASSIGN_OR_RETURN(const CheckpointSet checkpoint_set, CheckpointsFromArguments(run.args, flags));
  std::unique_ptr<InfluenceDomain> domain;
  {
    const ProfileScope scope(Stage::kSetup);
    ASSIGN_OR_RETURN(domain, MakeDomain(run, flags, checkpoint_set.is_kge, &checkpoint_set, references));
  }
  return RunInfluence(run, flags, outputs, checkpoint_set, *domain);
}

int RunTracinTool(int argc, char** argv, absl::Status (*body)(const ToolRun& run)) {
  return RunTool(argc, argv,
                 {"tracin", "which training data made a model say what it says",
                  "tracin [flags] --train=DATA --test=DATA CHECKPOINT...\n"
                  "       tracin [flags] --self --train=DATA CHECKPOINT...\n"
                  "       tracin [flags] --mode=leave-one-out --train=DATA CHECKPOINT\n"
                  "       tracin [flags] --mode=curvature --train=DATA --output=CURVATURE CHECKPOINT\n"
                  "       tracin [flags] --merge INFLUENCE...\n"
                  "       tracin [flags] --plan_subsets=100 --train=DATA --output=SUBSETS RUN\n"
                  "       tracin [flags] --lds=SUBSETS --predictions=MODELS --train=DATA --test=DATA INFLUENCE...\n"
                  "       tracin [flags] --judge=DIR --train=DATA --test=DATA RUN [INFLUENCE...]",
                  TracinForeignFlags()},
                 body);
}

}  // namespace rutile
