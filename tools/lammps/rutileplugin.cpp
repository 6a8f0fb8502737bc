// The entry of the plugin: tells LAMMPS of pair_style rutile.
//
// Copyright: the authors of rutile. GNU General Public License, version 2; see LICENSE in this directory.

#include <lammps.h>

#include "pair_rutile.h"

namespace {

// LAMMPS' interface of plugins, whose header no package installs. `version` is the LAMMPS that the plugin is for.
struct Plugin {
  const char *version, *style, *name, *info, *author;
  void* (*create)(void* lammps);
  void* handle;
};
using Register = void (*)(Plugin* plugin, void* lammps);

void* Create(void* lammps) { return new LAMMPS_NS::PairRutile(static_cast<LAMMPS_NS::LAMMPS*>(lammps)); }

}  // namespace

extern "C" void lammpsplugin_init(void* lammps, void* handle, void* register_function) {
  Plugin plugin = {static_cast<LAMMPS_NS::LAMMPS*>(lammps)->version,
                   "pair",
                   "rutile",
                   "potentials trained by rutile",
                   "the authors of rutile",
                   Create,
                   handle};
  reinterpret_cast<Register>(register_function)(&plugin, lammps);
}
