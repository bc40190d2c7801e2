// zlib, and functions for its initialisers, which are macros.
#ifndef KITH_CZLIB_SHIM_H
#define KITH_CZLIB_SHIM_H
#include <zlib.h>

// Raw DEFLATE (RFC 1951): window of 32 KiB, no zlib or gzip header.
static inline int kith_deflate_init_raw(z_stream *stream, int level, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -15, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int kith_inflate_init_raw(z_stream *stream) {
    return inflateInit2(stream, -15);
}

// gzip (RFC 1952) and nothing else.
static inline int kith_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, 15 + 16);
}
#endif
