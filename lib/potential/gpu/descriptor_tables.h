// The numbers that follow from a descriptor's options, on the host and on a device. nvcc compiles this file, so that it
// does without the descriptor's own headers; descriptor_host_tables.h fills the tables in.

#ifndef RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_TABLES_H_
#define RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/potential/gpu/descriptor_views.h"

namespace rutile {

struct HostAngularTables {
  int order = 0;
  double cutoff = 0;                                 // Angstrom
  double square = 0;                                 // neighbors have r^2 <= square
  std::vector<double> weight, legendre, recurrence;  // as in AngularTables
};

// The tables in fp64, and what selects neighbors.
struct HostDescriptorTables {
  int rad_order = 0;
  double rad_cutoff = 0;                  // Angstrom
  double min_square = 0, rad_square = 0;  // radial neighbors have min_square < r^2 <= rad_square
  std::vector<HostAngularTables> sets;    // at most kMaxAngularSets, the largest cutoff first
  std::vector<double> spins;              // [species] typespins
};

// Owns the tables in the memory of a backend, which must outlive it. T, float or double, is the type of the arithmetic.
template <typename T, typename Backend>
class DescriptorTablesOnDevice {
 public:
  DescriptorTablesOnDevice(const HostDescriptorTables& host, Backend* backend) : memory_(backend) {
    SetColumns(host);
    std::vector<T> all;
    for (const HostAngularTables& set : host.sets) {
      for (const auto* part : {&set.weight, &set.legendre, &set.recurrence}) {
        for (const double value : *part) all.push_back(static_cast<T>(value));
      }
    }
    memory_.Upload(all);
    const T* at = memory_.data();
    for (size_t s = 0; s < host.sets.size(); ++s) {
      AngularTables<T>& to = view_.set[s];
      to.weight = at;
      to.legendre = to.weight + host.sets[s].weight.size();
      to.recurrence = to.legendre + host.sets[s].legendre.size();
      at = to.recurrence + host.sets[s].recurrence.size();
    }
  }

  const DescriptorTables<T>& view() const { return view_; }

 private:
  // Sets all but the pointers. Columns are [radial, first set] and, weighted, the same again; then the other sets, each
  // with its weighted half behind it.
  void SetColumns(const HostDescriptorTables& host) {
    const int halves = host.spins.size() > 1 ? 2 : 1;
    view_.weighted = halves == 2;
    view_.radial.order = host.rad_order;
    view_.radial.scale = static_cast<T>(4 / host.rad_cutoff);
    view_.radial.inverse_square = static_cast<T>(1 / (host.rad_cutoff * host.rad_cutoff));
    view_.num_sets = static_cast<int>(host.sets.size());
    const int radial = host.rad_order + 1;
    int column = radial;
    for (int s = 0; s < view_.num_sets; ++s) {
      const HostAngularTables& from = host.sets[s];
      AngularTables<T>& to = view_.set[s];
      const int size = from.order + 1;
      to.order = from.order;
      to.num_harmonics = size * size;
      to.inverse_square = static_cast<T>(1 / (from.cutoff * from.cutoff));
      to.first_column = column;
      to.first_weighted_column = column + size + (s == 0 ? radial : 0);
      if (s == 0) view_.radial.weighted_column = column + size;
      column = halves == 2 ? to.first_weighted_column + size : column + size;
      to.first_moment = view_.num_moments;
      view_.num_moments += int64_t{halves} * to.num_harmonics;
    }
    view_.num_features = column;
  }

  DeviceArray<T, Backend> memory_;
  DescriptorTables<T> view_ = {};
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_TABLES_H_
