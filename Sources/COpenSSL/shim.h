// OpenSSL, and functions for what it hides behind macros.
#ifndef KITH_COPENSSL_SHIM_H
#define KITH_COPENSSL_SHIM_H
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

// Transport
static inline int kith_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
// No compression, renegotiation, tickets or session cache; an end of stream without close_notify stays an error
// (SSL_OP_IGNORE_UNEXPECTED_EOF is not set). Writes may be partial and repeated from another place; memory of idle
// connections is given back.
static inline void kith_SSL_CTX_harden(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_clear_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_LEGACY_SERVER_CONNECT);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context,
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}
static inline void kith_SSL_CTX_set_buffers(SSL_CTX *context, size_t read_ahead_bytes, long certificate_bytes_max) {
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, read_ahead_bytes);
    SSL_CTX_set_max_cert_list(context, certificate_bytes_max);
}
static inline int kith_ERR_GET_REASON(unsigned long code) { return ERR_GET_REASON(code); }
static inline void kith_OPENSSL_free(void *pointer) { OPENSSL_free(pointer); }

// Keys and certificates (KithTrust).
static inline EVP_PKEY *kith_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline int kith_is_p256(const EVP_PKEY *key) {
    char name[32];
    size_t length = 0;
    return EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, name, sizeof name, &length) == 1
        && strcmp(name, "prime256v1") == 0;
}
static inline long kith_bio_get_mem_data(BIO *bio, char **start) { return BIO_get_mem_data(bio, start); }

#endif
