// The tracin tool: finds the training data behind a model's predictions. Does not link LibTorch (run_tracin.h).

#include "tools/common/run/run_tool.h"
#include "tools/tracin/run_tracin.h"

int main(int argc, char** argv) {
  return rutile::RunTracinTool(argc, argv, [](const rutile::ToolRun& run) { return rutile::RunTracin(run, nullptr); });
}
