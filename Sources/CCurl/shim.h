// libcurl, and functions of fixed arguments for those that take any, which Swift cannot call.
#ifndef KITH_CCURL_SHIM_H
#define KITH_CCURL_SHIM_H
#include <curl/curl.h>

typedef size_t (*kith_curl_data)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode kith_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode kith_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

// libcurl keeps a copy of a text.
static inline CURLcode kith_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode kith_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode kith_curl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

// CURLOPT_WRITEFUNCTION, CURLOPT_READFUNCTION or CURLOPT_HEADERFUNCTION.
static inline CURLcode kith_curl_set_callback(CURL *easy, CURLoption option, kith_curl_data callback) {
    return curl_easy_setopt(easy, option, callback);
}

// Bytes that libcurl copies; the length first.
static inline CURLcode kith_curl_set_body(CURL *easy, const char *bytes, curl_off_t count) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

static inline CURLcode kith_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode kith_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// The transfer that a message of curl_multi_info_read tells the end of, and what came of it.
static inline CURLcode kith_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}
#endif
