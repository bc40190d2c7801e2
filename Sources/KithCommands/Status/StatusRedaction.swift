import KithDocuments

/// Takes out of a status what a bug report should not tell: document IDs, network addresses, and whatever stands in
/// quotes in an error.
enum StatusRedaction {
    /// The same status with `document-1`, `address-1` and so on in their place; the same text becomes the same
    /// stand-in.
    static func redact(_ value: JSONValue) -> JSONValue {
        var standIns = StandIns()
        return redact(value, key: nil, parent: nil, &standIns)
    }

    private struct StandIns {
        private var known: [[UInt8]: String] = [:]
        private var counts: [String: Int] = [:]

        mutating func standIn(for text: String, kind: String) -> String {
            let key = Array((kind + "\0" + text).utf8)
            if let name = known[key] { return name }
            counts[kind, default: 0] += 1
            let name = "\(kind)-\(counts[kind, default: 0])"
            known[key] = name
            return name
        }
    }

    private static func redact(
        _ value: JSONValue, key: String?, parent: String?, _ standIns: inout StandIns
    ) -> JSONValue {
        if let items = value.arrayValue {
            return .array(items.map { redact($0, key: nil, parent: key, &standIns) })
        }
        if let object = value.objectValue {
            var members: [(String, JSONValue)] = []
            for member in object {
                members.append((member.name, redact(member.value, key: member.name, parent: parent, &standIns)))
            }
            return .object(JSONObject(members))
        }
        guard let text = value.stringValue else { return value }
        switch (parent, key) {
        case ("conflicts", "id"), ("refusals", "id"): return .string(standIns.standIn(for: text, kind: "document"))
        // Errors about a document name it.
        case ("refusals", "reason"): return "…"
        case (_, "url"): return .string(standIns.standIn(for: text, kind: "server"))
        case ("problems", "subject") where text.contains("://"):
            return .string(standIns.standIn(for: text, kind: "server"))
        case (_, "address"), ("listening", nil): return .string(standIns.standIn(for: text, kind: "address"))
        case (_, "text"), (_, "lastError"), (_, "reason"): return .string(withoutURLs(withoutQuoted(text)))
        case ("problems", "command"): return .string(withoutQuoted(text))
        default: return value
        }
    }

    /// The text with `…` for each URL.
    private static func withoutURLs(_ text: String) -> String {
        guard text.contains("://") else { return text }
        return text.split(separator: " ", omittingEmptySubsequences: false)
            .map { $0.contains("://") ? "…" : String($0) }.joined(separator: " ")
    }

    /// The text with `"…"` for everything between two quotation marks.
    static func withoutQuoted(_ text: String) -> String {
        var result = ""
        var closing: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if let end = closing {
                if scalar == end {
                    result += "…"
                    result.unicodeScalars.append(scalar)
                    closing = nil
                }
                continue
            }
            result.unicodeScalars.append(scalar)
            if scalar == "\"" { closing = "\"" }
            if scalar == "“" { closing = "”" }
            if scalar == "‘" { closing = "’" }
        }
        return closing == nil ? result : result + "…"
    }
}
