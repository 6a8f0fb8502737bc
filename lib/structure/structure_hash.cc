#include "lib/structure/structure_hash.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/file/sha256.h"

namespace rutile {
namespace {

constexpr size_t kDigits = 12;  // 48 bits: two of a million structures share a hash with a chance of 1 in 600

template <typename Values>
void Add(const Values& values, Sha256* sha) {
  std::vector<double> numbers(values.begin(), values.end());
  for (double& number : numbers) number += 0.0;  // -0 becomes 0: formats differ in whether they keep the sign
  sha->Update({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)});
}

}  // namespace

std::string StructureHash(const Structure& structure) {
  Sha256 sha;
  Add(structure.element, &sha);
  Add(structure.position, &sha);
  Add(structure.pbc, &sha);
  if (structure.pbc[0] || structure.pbc[1] || structure.pbc[2]) Add(structure.cell, &sha);
  return sha.HexDigest().substr(0, kDigits);
}

bool IsStructureHash(absl::string_view word) {
  return word.size() == kDigits &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace rutile
