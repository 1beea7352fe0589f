// One parser per format. Each gives samples, shape and what labels the format brings; read_dataset() adds labels and
// properties from other files, checks everything and cuts to the limit.
//
// A parser that finds properties gives one for each that was asked for, in that order; one without values lives in
// another file or is the number of a column.
#pragma once

#include <filesystem>
#include <string>

#include "cpfm/data.hpp"
#include "data/byte_source.hpp"

namespace cpfm {

// Stream formats.
Dataset parse_npy(Reader& reader, const ReadOptions& options);
Dataset parse_csv(Reader& reader, const ReadOptions& options);
Dataset parse_idx(Reader& reader, const ReadOptions& options);
Dataset parse_cifar(Reader& reader, const ReadOptions& options);

// Formats that need to seek, or a folder.
Dataset read_npz(const std::filesystem::path& file, const ReadOptions& options);
Dataset read_hdf5(const std::filesystem::path& file, const ReadOptions& options);
Dataset read_image_folder(const std::filesystem::path& folder, const ReadOptions& options);
Dataset read_cifar_folder(const std::filesystem::path& folder, const ReadOptions& options);
Dataset read_digits();

// The labels file that belongs to an idx images file ("…-images-idx3-ubyte" → "…-labels-idx1-ubyte"), if it is there.
std::string idx_sibling_labels(const std::string& images);

}  // namespace cpfm
