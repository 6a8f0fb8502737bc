#include "lib/potential/model/aenet/aenet_file.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/potential/model/aenet/aenet_binary.h"
#include "lib/potential/model/aenet/aenet_layout.h"
#include "lib/potential/model/aenet/aenet_text.h"
#include "lib/structure/element.h"

namespace rutile {

std::string AenetBinary(const AenetNetwork& network) {
  std::string bytes;
  WriteAenet(network, MakeAenetBinarySink(&bytes).get());
  return bytes;
}

std::string AenetText(const AenetNetwork& network) {
  std::string text;
  WriteAenet(network, MakeAenetTextSink(&text).get());
  return text;
}

bool LooksLikeAenetNetwork(absl::string_view bytes) {
  return LooksLikeAenetBinary(bytes) || LooksLikeAenetText(bytes.substr(0, 1024));
}

absl::StatusOr<AenetNetwork> ParseAenet(absl::string_view bytes, absl::string_view path) {
  const std::unique_ptr<AenetSource> source =
      LooksLikeAenetBinary(bytes) ? MakeAenetBinarySource(bytes, path) : MakeAenetTextSource(bytes, path);
  return ReadAenet(source.get());
}

absl::StatusOr<std::vector<std::string>> WriteAenetPotentials(absl::string_view directory, const Potential& potential) {
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> binary;
  for (size_t s = 0; s < potential.descriptor.species().size(); ++s) {
    ASSIGN_OR_RETURN(const AenetNetwork network, ToAenet(potential, static_cast<int>(s)));
    binary.push_back(absl::StrCat(directory, "/", ElementSymbol(potential.descriptor.species()[s]), ".nn"));
    files.emplace_back(binary.back(), AenetBinary(network));
    files.emplace_back(binary.back() + ".ascii", AenetText(network));
  }
  RETURN_IF_ERROR(MakeDirectories(std::string(directory)));
  for (const auto& [path, bytes] : files) RETURN_IF_ERROR(WriteFileAtomically(path, bytes));
  return binary;
}

}  // namespace rutile
