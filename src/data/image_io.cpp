// libjpeg reports errors by longjmp, which would skip destructors: every function below that calls setjmp holds nothing
// but plain values, and what needs a destructor lives in its caller. libpng is used through its simplified interface,
// which keeps its jumps to itself. Memory is asked for only after the declared size was compared with the file's.
#include "data/image_io.hpp"

#include <fmt/format.h>
#include <png.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

// Behind <cstdio>: jpeglib.h uses FILE without declaring it.
// clang-format off
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include "base/checked.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

// An open file with its length. Closed on destruction.
struct InputFile {
  explicit InputFile(const fs::path& path) : name(path.string()), stream(std::fopen(path.c_str(), "rb")) {
    const int error = errno;
    struct stat status {};
    if (!stream || fstat(fileno(stream.get()), &status) != 0) {
      throw Error(name, "cannot be opened: " + std::generic_category().message(error));
    }
    if (!S_ISREG(status.st_mode)) throw Error(name, "is not a plain file", "a PNG or JPEG picture is needed");
    size = static_cast<std::uint64_t>(status.st_size);
  }

  // Up to out.size() bytes from `offset`.
  std::size_t read_at(std::uint64_t offset, std::span<unsigned char> out) const {
    if (fseeko(stream.get(), static_cast<off_t>(offset), SEEK_SET) != 0) return 0;
    return std::fread(out.data(), 1, out.size(), stream.get());
  }
  void rewind() const { std::rewind(stream.get()); }

  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string name;
  std::unique_ptr<std::FILE, Close> stream;
  std::uint64_t size = 0;
};

std::uint32_t big_endian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
}

[[noreturn]] void too_many_pixels(const InputFile& file, std::uint64_t width, std::uint64_t height) {
  throw Error(
      file.name,
      fmt::format("declares {} × {} pixels (height × width), which {} bytes cannot hold", height, width, file.size),
      "the file is damaged");
}

void allocate(Picture& picture, const PictureInfo& info, const std::string& name) {
  picture.width = info.width;
  picture.height = info.height;
  picture.channels = info.channels;
  picture.pixels.resize(checked_product(std::array{info.width, info.height, info.channels}, name));
}

// ---- PNG ----

constexpr std::array<unsigned char, 8> kPngMagic{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

PictureInfo read_png_info(const InputFile& file) {
  // Signature, then the chunk IHDR: length, type, width, height, bit depth, colour type, …, checksum.
  std::array<unsigned char, 33> header{};
  if (file.read_at(0, header) != header.size()) throw Error(file.name, "the PNG file ends inside its header");
  if (big_endian(&header[8]) != 13 || std::memcmp(&header[12], "IHDR", 4) != 0) {
    throw Error(file.name, "the PNG file does not start with a header", "it is damaged or not a standard PNG");
  }
  const std::uint32_t width = big_endian(&header[16]), height = big_endian(&header[20]);
  const unsigned depth = header[24], color_type = header[25];
  constexpr std::array<unsigned, 7> kSamples{1, 0, 3, 1, 2, 0, 4};  // per pixel, by colour type
  const unsigned samples = color_type < kSamples.size() ? kSamples[color_type] : 0;
  if (width == 0 || height == 0 || samples == 0 || depth == 0 || depth > 16) {
    throw Error(file.name, "the PNG header is damaged");
  }
  // deflate makes at most 1032 bytes out of one.
  constexpr std::uint64_t kExpansion = 1032, kSlack = 64 * 1024;
  const std::uint64_t row_bytes = (std::uint64_t{width} * samples * depth + 7) / 8 + 1;
  const std::uint64_t raw = checked_mul(row_bytes, height, file.name);
  if (raw > checked_add(checked_mul(kExpansion, file.size, file.name), kSlack, file.name)) {
    too_many_pixels(file, width, height);
  }
  const bool color = (color_type & 2) != 0;  // palettes included
  return {checked_int(width, file.name), checked_int(height, file.name), color ? 3 : 1};
}

// libpng stops reading after the last row; a file cut behind it is found by walking over the chunks to the end mark.
void check_png_is_whole(const InputFile& file) {
  std::uint64_t at = kPngMagic.size();
  for (;;) {
    std::array<unsigned char, 8> chunk{};
    const bool there = file.read_at(at, chunk) == chunk.size();
    const std::uint64_t length = 12 + std::uint64_t{big_endian(chunk.data())};  // with its length, type and checksum
    if (!there || length > file.size - at) throw Error(file.name, "the PNG file is truncated or damaged");
    if (std::memcmp(&chunk[4], "IEND", 4) == 0) return;
    at += length;
  }
}

Picture read_png(const InputFile& file) {
  const PictureInfo info = read_png_info(file);
  check_png_is_whole(file);
  file.rewind();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&image, &png_image_free);
  const auto fail = [&] { throw Error(file.name, fmt::format("the PNG file is damaged: {}", image.message)); };
  if (png_image_begin_read_from_stdio(&image, file.stream.get()) == 0) fail();
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  image.format = info.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (image.width != static_cast<png_uint_32>(info.width) || image.height != static_cast<png_uint_32>(info.height)) {
    throw Error(file.name, "changed while it was read");
  }
  Picture picture;
  allocate(picture, info, file.name);
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr) == 0) fail();
  return picture;
}

// ---- JPEG ----

class JpegDecoder {
 public:
  JpegDecoder() = default;
  ~JpegDecoder() { jpeg_destroy_decompress(&state_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Both return false on failure; message() then says why.
  bool read_header(std::FILE* stream) {
    state_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = &fail;
    errors_.base.emit_message = &on_message;
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&state_);
    progress_.progress_monitor = &on_progress;
    state_.progress = &progress_;
    jpeg_stdio_src(&state_, stream);
    jpeg_read_header(&state_, TRUE);
    return true;
  }
  bool decode(std::uint8_t* pixels, std::size_t stride) {
    if (setjmp(errors_.jump) != 0) return false;
    state_.out_color_space = channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = pixels + state_.output_scanline * stride;
      jpeg_read_scanlines(&state_, &row, 1);
    }
    jpeg_finish_decompress(&state_);
    return true;
  }

  const char* message() const { return errors_.message; }
  std::uint64_t width() const { return state_.image_width; }
  std::uint64_t height() const { return state_.image_height; }
  bool is_cmyk() const { return state_.jpeg_color_space == JCS_CMYK || state_.jpeg_color_space == JCS_YCCK; }
  // 0: neither grey nor colour.
  int channels() const {
    if (state_.jpeg_color_space == JCS_GRAYSCALE) return 1;
    return state_.jpeg_color_space == JCS_YCbCr || state_.jpeg_color_space == JCS_RGB ? 3 : 0;
  }

 private:
  struct Errors {
    jpeg_error_mgr base;  // first: libjpeg hands back a pointer to it
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };

  [[noreturn]] static void fail(j_common_ptr state) {
    auto* errors = reinterpret_cast<Errors*>(state->err);
    errors->base.format_message(state, errors->message);
    std::longjmp(errors->jump, 1);
  }
  // libjpeg fills up what is missing and only warns. Two warnings are about the header alone and harmless.
  static void on_message(j_common_ptr state, int level) {
    const int code = state->err->msg_code;
    if (level < 0 && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM) fail(state);
  }
  // A few bytes can ask for thousands of passes over a large progressive picture.
  static void on_progress(j_common_ptr state) {
    constexpr int kMostScans = 500;
    if (state->is_decompressor == 0 || reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= kMostScans)
      return;
    auto* errors = reinterpret_cast<Errors*>(state->err);
    std::snprintf(errors->message, sizeof(errors->message), "more than %d passes", kMostScans);
    std::longjmp(errors->jump, 1);
  }

  jpeg_decompress_struct state_{};
  Errors errors_{};
  jpeg_progress_mgr progress_{};
};

PictureInfo read_jpeg_info(const InputFile& file, JpegDecoder& decoder) {
  file.rewind();
  if (!decoder.read_header(file.stream.get())) {
    throw Error(file.name, fmt::format("the JPEG file is truncated or damaged: {}", decoder.message()));
  }
  if (decoder.is_cmyk()) throw Error(file.name, "is a CMYK picture", "save it as RGB or grey");
  if (decoder.channels() == 0)
    throw Error(file.name, "is a JPEG that is neither grey nor colour", "save it as RGB or grey");
  // A block of 8 × 8 pixels takes no less than a few bits.
  constexpr std::uint64_t kPixelsPerByte = 1024, kSlack = 64 * 1024;
  const std::uint64_t most = checked_add(checked_mul(kPixelsPerByte, file.size, file.name), kSlack, file.name);
  if (checked_mul(decoder.width(), decoder.height(), file.name) > most) {
    too_many_pixels(file, decoder.width(), decoder.height());
  }
  return {checked_int(decoder.width(), file.name), checked_int(decoder.height(), file.name), decoder.channels()};
}

Picture read_jpeg(const InputFile& file) {
  JpegDecoder decoder;
  Picture picture;
  allocate(picture, read_jpeg_info(file, decoder), file.name);
  if (!decoder.decode(picture.pixels.data(), picture.stride())) {
    throw Error(file.name, fmt::format("the JPEG file is truncated or damaged: {}", decoder.message()));
  }
  return picture;
}

enum class Format { kPng, kJpeg };

Format find_format(const InputFile& file) {
  std::array<unsigned char, 8> magic{};
  const std::size_t got = file.read_at(0, magic);
  if (got == magic.size() && magic == kPngMagic) return Format::kPng;
  if (got >= 3 && magic[0] == 0xFF && magic[1] == 0xD8 && magic[2] == 0xFF) return Format::kJpeg;
  throw Error(file.name, got == 0 ? "is empty" : "is neither a PNG nor a JPEG picture", "convert it, or move it away");
}

}  // namespace

PictureInfo read_picture_info(const fs::path& path) {
  const InputFile file(path);
  if (find_format(file) == Format::kPng) return read_png_info(file);
  JpegDecoder decoder;
  return read_jpeg_info(file, decoder);
}

Picture read_picture(const fs::path& path) {
  const InputFile file(path);
  return find_format(file) == Format::kPng ? read_png(file) : read_jpeg(file);
}

Picture with_channels(Picture picture, int channels) {
  CPFM_ASSERT(channels == 1 || channels == 3, "grey or colour");
  if (picture.channels == channels) return picture;
  const std::size_t count = picture.pixels.size() / static_cast<std::size_t>(picture.channels);
  std::vector<std::uint8_t> pixels(count * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 3) {
      std::fill_n(&pixels[3 * i], 3, picture.pixels[i]);
    } else {
      const std::uint8_t* rgb = &picture.pixels[3 * i];
      pixels[i] = static_cast<std::uint8_t>((299u * rgb[0] + 587u * rgb[1] + 114u * rgb[2] + 500u) / 1000u);
    }
  }
  picture.channels = channels;
  picture.pixels = std::move(pixels);
  return picture;
}

std::vector<std::byte> encode_png(int width, int height, int channels, std::span<const std::uint8_t> pixels) {
  CPFM_ASSERT(width > 0 && height > 0 && (channels == 1 || channels == 3), "a picture has pixels, grey or colour");
  CPFM_ASSERT(pixels.size() == checked_product(std::array{width, height, channels}, "png"), "pixels fill the picture");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  if (png_image_write_to_memory(&image, buffer.get(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    throw Error("png",
                fmt::format("the picture of {} × {} pixels cannot be encoded: {}", height, width, image.message));
  }
  return {buffer.get(), buffer.get() + size};
}

}  // namespace cpfm
