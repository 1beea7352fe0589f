// The door to the flow library. Linking libtorch costs about 0.4 s at every start of a program, so nothing links
// libcpfm_flow: the command line loads it when a command needs it and talks to it through this torch-free interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpfm/features.hpp"
#include "cpfm/flow.hpp"
#include "cpfm/sequence_vae.hpp"

namespace cpfm {

class FlowEntry {
 public:
  virtual ~FlowEntry() = default;
  virtual std::string torch_version() const = 0;
  // What libtorch can run on: "cpu", then "cuda:0" and so on.
  virtual std::vector<std::string> devices() const = 0;
  // libtorch's own loops follow cpfm's one thread setting.
  virtual void set_threads(int count) = 0;

  virtual void check_training(const TrainOptions& options, std::size_t dim, const std::optional<ImageShape>& image) = 0;
  virtual std::unique_ptr<Trainer> make_trainer(const TrainData& data, const TrainOptions& options) = 0;
  virtual std::unique_ptr<FlowModel> load_model(const std::filesystem::path& file, const std::string& device) = 0;
  virtual std::unique_ptr<Classifier> train_classifier(const Dataset& data, const ClassifierOptions& options,
                                                       Progress* progress) = 0;
  virtual std::unique_ptr<PictureFeatures> load_inception(const std::filesystem::path& file,
                                                          const std::string& device) = 0;
  virtual std::unique_ptr<PictureFeatures> load_squeezenet(const std::filesystem::path& file,
                                                           const std::string& device) = 0;
  virtual std::unique_ptr<PerceptualDistance> load_lpips(const std::filesystem::path& file,
                                                         const std::string& device) = 0;
  virtual NetworkOptions network_preset(const std::string& name) = 0;
  virtual std::unique_ptr<SequenceVae> train_sequence_vae(const SequenceData& data, const SequenceVaeOptions& options,
                                                          Progress* progress) = 0;
  virtual std::unique_ptr<SequenceVae> load_sequence_vae(const TensorFile& file, const std::string& device) = 0;
};

}  // namespace cpfm

// The only exported name the loader looks up.
extern "C" cpfm::FlowEntry* cpfm_flow_entry();
