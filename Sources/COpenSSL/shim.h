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
static inline void kith_SSL_CTX_set_max_cert_list(SSL_CTX *context, long bytes_max) {
    SSL_CTX_set_max_cert_list(context, bytes_max);
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

// Certificates of a site's authority (KithTrust).
// Whether a certificate is for this use (RFC 5280, section 4.2.1.12), which is named by its numbers.
static inline int kith_has_usage(X509 *certificate, const char *numbers) {
    EXTENDED_KEY_USAGE *usages = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
    ASN1_OBJECT *wanted = OBJ_txt2obj(numbers, 1);
    int found = 0;
    for (int i = 0; usages && wanted && i < sk_ASN1_OBJECT_num(usages); i++)
        if (OBJ_cmp(sk_ASN1_OBJECT_value(usages, i), wanted) == 0) found = 1;
    ASN1_OBJECT_free(wanted);
    EXTENDED_KEY_USAGE_free(usages);
    return found;
}
// How the numbers of two lists compare (RFC 5280, section 5.2.3): -1, 0 or 1 for the first, 2 where one has none.
static inline int kith_crl_number_order(X509_CRL *one, X509_CRL *other) {
    ASN1_INTEGER *a = X509_CRL_get_ext_d2i(one, NID_crl_number, NULL, NULL);
    ASN1_INTEGER *b = X509_CRL_get_ext_d2i(other, NID_crl_number, NULL, NULL);
    int order = 2;
    if (a && b) {
        int difference = ASN1_INTEGER_cmp(a, b);
        order = difference < 0 ? -1 : difference > 0 ? 1 : 0;
    }
    ASN1_INTEGER_free(a);
    ASN1_INTEGER_free(b);
    return order;
}
// A revocation list whose time is over still says who is revoked; everything else that is wrong ends the check.
static inline int kith_pass_late_list(int is_right, X509_STORE_CTX *check) {
    int error = X509_STORE_CTX_get_error(check);
    return is_right || error == X509_V_ERR_CRL_HAS_EXPIRED || error == X509_V_ERR_CRL_NOT_YET_VALID;
}
static inline void kith_let_late_lists_pass(X509_STORE_CTX *check) {
    X509_STORE_CTX_set_verify_cb(check, kith_pass_late_list);
}

#endif
