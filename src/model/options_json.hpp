// Options and facts as JSON, for model files and checkpoints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpfm/flow.hpp"

namespace cpfm {

using Json = nlohmann::ordered_json;

Json to_json(const NetworkOptions& options);
NetworkOptions network_from_json(const Json& json);
Json to_json(const TrainOptions& options);
Json to_json(const ModelFacts& facts);
// Of a file's metadata; cpfm::Error, which names the fact, where one cannot be: sizes out of range, a shape of pictures
// that is not that of the samples, scales that are not finite.
ModelFacts facts_from_json(const Json& json);

// "key is 3 here and was 4, …" for keys of `mine` that `theirs` has otherwise; empty when there are none.
std::string differences(const Json& mine, const Json& theirs, const std::vector<std::string>& may_differ);

}  // namespace cpfm
