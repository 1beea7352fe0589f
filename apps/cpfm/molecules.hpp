// Molecules in the commands: the autoencoder that turns them into points for stage 2, in a run's folder and in a model.
#pragma once

#include <optional>

#include "cli.hpp"
#include "cpfm/molecule_coder.hpp"

namespace cpfm::app {

struct MoleculeArguments {
  SequenceVaeOptions options;

  void add_to(CLI::App& command);
  // Before any work on them.
  void check(const Dataset& data) const;
  // Whether it is one of them.
  static bool owns(const CLI::Option& option);
};

// The autoencoder of a run: the one in its folder, or a new one, begun or gone on with. Refuses one that was made of
// other molecules or with other options.
MoleculeCoder coder_of_run(const std::filesystem::path& folder, const Dataset& data, SequenceVaeOptions options,
                           FlowEntry& flow, const Context& context);

// Puts the autoencoder into a model's file.
void add_to_model(const std::filesystem::path& model, const MoleculeCoder& coder);
// The autoencoder of a model of molecules; nothing where it is of anything else.
std::optional<MoleculeCoder> coder_in(const std::filesystem::path& model, const std::string& device);

// The samples that a model takes: points in the place of molecules where it is of molecules. Refuses data of the other
// kind.
Dataset samples_for(const std::optional<MoleculeCoder>& coder, Dataset data, const Context& context);

}  // namespace cpfm::app
