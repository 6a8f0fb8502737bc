// What a kernel of two layers asks of the geometry, which it does not know: sums over neighbors of what atoms send.

#ifndef RUTILE_LIB_NETWORK_MESSAGE_SUMS_H_
#define RUTILE_LIB_NETWORK_MESSAGE_SUMS_H_

namespace rutile {

// Maps messages u to features x of the atoms of a call, and derivatives back. Rows are those of AtomRows: u, ubar, ...
// have moments.message_width() numbers for each atom, x, xbar, ... have the features of SecondLayer(). Rows of u, ubar,
// ... of neighbors that are not in AtomRows follow these. All results are overwritten. lib/descriptor/message_moments.h
// has the formulas.
template <typename T>
class MessageSums {
 public:
  virtual ~MessageSums() = default;

  virtual void Sums(const T* u, T* x) = 0;
  // Computes ubar, the derivative of xbar . x by u. With `forces` the derivatives of xbar . x by positions are kept,
  // which the owner of the object asks for.
  virtual void Slopes(const T* u, const T* xbar, bool forces, T* ubar) = 0;
  // Computes the derivative of x as u changes by udot and atoms move along the direction that the owner has set.
  virtual void Tangents(const T* u, const T* udot, T* xdot) = 0;
  // Computes the derivative of ubar as xbar changes by xbardot and atoms move along that direction.
  virtual void TangentSlopes(const T* xbar, const T* xbardot, T* ubardot) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_MESSAGE_SUMS_H_
