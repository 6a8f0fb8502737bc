// tracin-verify: tracin with LibTorch, by which --verify compares. Not for users: tracin becomes it (run_tracin.h).

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
