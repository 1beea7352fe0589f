// Part of the download component; without it nothing here is compiled.
#if CPFM_HAS_DOWNLOAD
#include "data/md5.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <new>
#include <vector>

#include "cpfm/error.hpp"
#include "data/byte_source.hpp"

namespace cpfm {
namespace {

class Md5 {
 public:
  Md5() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_) throw std::bad_alloc();
    if (EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) != 1) {
      throw Error("OpenSSL", "this system's configuration forbids MD5, so a download cannot be verified");
    }
  }
  void update(std::span<const std::byte> bytes) {
    CPFM_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "MD5 update failed");
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned length = 0;
    CPFM_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1, "MD5 did not finish");
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string md5_hex(std::span<const std::byte> bytes) {
  Md5 md5;
  md5.update(bytes);
  return md5.hex();
}

std::string md5_of_file(const std::filesystem::path& file) {
  const std::unique_ptr<ByteSource> source = file_source(file);
  Md5 md5;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t count = source->read(buffer)) md5.update(std::span(buffer).first(count));
  return md5.hex();
}

}  // namespace cpfm
#endif
