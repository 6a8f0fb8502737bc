// The tracin-verify binary: tracin with LibTorch, for --verify. Users do not call it: tracin exec()s it (run_tracin.h).

#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/potential/influence/gradient_reference.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/run_tracin.h"

int main(int argc, char** argv) {
  return rutile::RunTracinTool(argc, argv, [](const rutile::ToolRun& run) {
    const rutile::InfluenceReferences references = {rutile::ReferenceKgeGradient, rutile::ReferenceExampleGradient};
    return rutile::RunTracin(run, &references);
  });
}
