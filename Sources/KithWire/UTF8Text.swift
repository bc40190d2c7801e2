/// Strict UTF-8: text that is not valid is `nil`, never repaired, since two different names must not become one.
enum UTF8Text {
    /// The text of the bytes, or `nil` when they are not valid UTF-8.
    static func string(_ bytes: UnsafeRawBufferPointer) -> String? {
        bytes.withMemoryRebound(to: UInt8.self) { units in
            guard let text = try? UTF8Span(validating: units.span) else { return nil }
            return String(copying: text)
        }
    }
}
