// model.cpfm: the averaged weights, the network's fixed buffers, and what is needed to use them on a machine that never
// saw the data.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "cpfm/flow.hpp"
#include "flow/drift.hpp"
#include "flow/learner.hpp"

namespace cpfm {

DriftShape drift_shape(const ModelFacts& facts);

// `weights` by the names of the module's parameters, float32 on the CPU.
void write_model(const std::filesystem::path& file, const ModelFacts& facts, const torch::nn::Module& module,
                 const std::map<std::string, torch::Tensor>& weights);

struct LoadedModel {
  ModelFacts facts;
  std::unique_ptr<Learner> learner;  // float32, on the CPU
};
// The network of such a model, with weights yet to come; float32, on the CPU.
std::unique_ptr<Learner> make_learner(const ModelFacts& facts);
LoadedModel read_model(const std::filesystem::path& file);

}  // namespace cpfm
