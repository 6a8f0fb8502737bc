// The body of tracin, which ships as two binaries: tracin itself, which does not link LibTorch and starts at once, and
// tracin-verify, which tracin exec()s if --verify requests gradients by LibTorch.

#ifndef RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_
#define RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_

#include "absl/status/status.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "lib/potential/influence/gradient_example.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Reference gradients by LibTorch, for --verify.
struct InfluenceReferences {
  KgeReference kge;
  GradientReference potential;
};

// Runs the tool; the checkpoints select the domain. references: null in the binary without LibTorch, in which case
// --verify replaces this process by the other binary before anything is read or written.
absl::Status RunTracin(const ToolRun& run, const InfluenceReferences* references);

// Calls RunTool in the same way for both binaries, so that users see one tool.
int RunTracinTool(int argc, char** argv, absl::Status (*body)(const ToolRun& run));

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_RUN_TRACIN_H_
