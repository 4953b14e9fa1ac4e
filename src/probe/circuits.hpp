#pragma once

#include <vector>

#include "src/probe/ablation_report.hpp"

// What weights alone say of heads: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits",
// transformer-circuits.pub/2021/framework. Rows are tokens: W_E embedding [V, D], W_U output [D, C], and of a
// head W_Q, W_K, W_V [D, E] and W_O [E, D].

namespace headtorch::probe {

/// How much a head reads of what another, of a lower layer, writes: norm(M1 M2) / (norm(M1) norm(M2)) with
/// Frobenius norms, M1 = W_V W_O of the lower head. NaN where one of them is 0.
struct Composition {
  HeadPlace lower, upper;
  double query = 0.0;  ///< M2 = W_Q W_K' of the upper head; NaN for weights that queries do not decide
  double key = 0.0;    ///< M2 = W_K W_Q'; likewise
  double value = 0.0;  ///< M2 = W_V W_O
};

struct Circuits {
  /// [layers * heads]: sum Re(l) / sum abs(l) over the eigenvalues l of W_E W_V W_O W_U: 1 when a token
  /// looked at raises its own logit, -1 when it lowers it. NaN for all where labels are no tokens.
  std::vector<double> copying;
  std::vector<Composition> compositions;  ///< by upper head, then lower
  double chance =
      0.0;  ///< of compositions: root mean square when what is written is turned at random, 1/sqrt(D)
};

}  // namespace headtorch::probe
