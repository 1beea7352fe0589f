// What the commands that use a model share: finding it, and data whose columns are in its order.
#pragma once

#include <memory>
#include <string>

#include "cli.hpp"

namespace cpfm::app {

void add_model_argument(CLI::App& command, std::string& model);
// `model` is a file, or the folder of a run.
std::unique_ptr<FlowModel> open_model(const std::string& model, const std::string& device);

// Brings the columns of `data` into the model's order where both have names; throws cpfm::Error that says which are
// missing and which are extra. Without names only their number is compared.
void match_columns(Dataset& data, const ModelFacts& facts);

}  // namespace cpfm::app
