// What training makes of a network of sequences.
#pragma once

#include "cpfm/sequence_vae.hpp"
#include "flow/sequence_net.hpp"

namespace cpfm {

std::unique_ptr<SequenceVae> make_sequence_vae(SequenceNet net, torch::Device device);

}  // namespace cpfm
