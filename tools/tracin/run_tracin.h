// What tracin does, of which there are two programs: tracin itself, which has no LibTorch and starts at once, and
// tracin-verify, which it becomes where --verify asks for gradients by LibTorch.

#ifndef RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_
#define RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_

#include "absl/status/status.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "lib/potential/influence/gradient_example.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

struct InfluenceReferences {
  KgeReference kge;
  GradientReference potential;
};

// The body of the tool. references: null where the program has none; --verify then goes over to the one that does,
// before anything is read or written. The domain follows from the checkpoints.
absl::Status RunTracin(const ToolRun& run, const InfluenceReferences* references);

// As main is to call RunTool: both programs are one tool to its users.
int RunTracinTool(int argc, char** argv, absl::Status (*body)(const ToolRun& run));

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_
