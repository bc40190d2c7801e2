import Glibc

/// The system's words for an error number.
func errorText(_ number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    // The XSI form, which fills the buffer.
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
