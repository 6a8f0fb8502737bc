// check_model MODEL...: exits with 0 if the files form a potential or a committee, and prints species and cutoff;
// otherwise with 1 and the reason on standard error. For rutile-kim.

#include <cstdio>
#include <vector>

#include "lib/md/rutile.h"

int main(int argc, char** argv) {
  const std::vector<const char*> paths(argv + 1, argv + argc);
  rutile_model* model = nullptr;
  char error[1000];
  const int count = static_cast<int>(paths.size());
  if (rutile_open(paths.data(), count, nullptr, &model, error, sizeof(error)) != RUTILE_OK) {
    std::fprintf(stderr, "rutile-kim: %s\n", error);
    return 1;
  }
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  rutile_get_info(model, &info);
  for (int k = 0; k < info.num_species; ++k) std::printf("%s ", rutile_species(model, k));
  std::printf("%g\n", info.cutoff);
  rutile_close(model);
  return 0;
}
