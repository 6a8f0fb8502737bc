#include "lib/structure/element.h"

#include <array>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int kElements = 118;
constexpr char kSymbols[kElements + 1][3] = {
    "",   "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",
    "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As",
    "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn",
    "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho",
    "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po",
    "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md",
    "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

// A table index for each capital letter followed by nothing (0) or by a small letter (1..26).
constexpr int Slot(char first, char second) { return (first - 'A') * 27 + (second == '\0' ? 0 : second - 'a' + 1); }

constexpr std::array<uint8_t, 26 * 27> MakeTable() {
  std::array<uint8_t, 26 * 27> table = {};
  for (int z = 1; z <= kElements; ++z) table[Slot(kSymbols[z][0], kSymbols[z][1])] = z;
  return table;
}

constexpr std::array<uint8_t, 26 * 27> kTable = MakeTable();

}  // namespace

uint8_t AtomicNumber(absl::string_view symbol) {
  if (symbol.empty() || symbol.size() > 2 || symbol[0] < 'A' || symbol[0] > 'Z') return 0;
  if (symbol.size() == 1) return kTable[Slot(symbol[0], '\0')];
  if (symbol[1] < 'a' || symbol[1] > 'z') return 0;
  return kTable[Slot(symbol[0], symbol[1])];
}

absl::string_view ElementSymbol(uint8_t atomic_number) {
  CHECK(atomic_number >= 1 && atomic_number <= kElements) << "no element " << static_cast<int>(atomic_number);
  return kSymbols[atomic_number];
}

}  // namespace rutile
