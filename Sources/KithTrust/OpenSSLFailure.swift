import COpenSSL

/// What OpenSSL said went wrong: the texts of this thread's error queue, which taking them empties.
///
/// The texts name functions and reasons; OpenSSL never puts key material into them.
struct OpenSSLFailure: Error, CustomStringConvertible {
    let description: String

    /// Takes everything from the queue, so that no old error is taken for a new one by a connection on this thread.
    static func take() -> OpenSSLFailure {
        var texts: [String] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            var buffer = [CChar](repeating: 0, count: 256)
            ERR_error_string_n(code, &buffer, buffer.count)
            texts.append(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return OpenSSLFailure(description: texts.isEmpty ? "no reason given" : texts.joined(separator: "; "))
    }
}
