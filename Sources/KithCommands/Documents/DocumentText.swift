import KithDocuments

/// Lays out documents for people, and leaves them as they are for programs.
enum DocumentText {
    /// Over several lines; characters that could act on a terminal as escapes, which say the same in JSON.
    static func pretty(_ value: JSONValue) -> String {
        var result = ""
        for scalar in value.prettyText().unicodeScalars {
            if scalar == "\n" || DisplayText.safe(String(scalar)).unicodeScalars.count == 1 {
                result.unicodeScalars.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }
        }
        return result
    }

    /// The body alone, without the names that begin with an underscore.
    static func body(_ value: JSONValue) -> JSONValue {
        var object = JSONObject()
        for member in value.objectValue ?? [:] where member.name.utf8.first != UInt8(ascii: "_") {
            object[member.name] = member.value
        }
        return .object(object)
    }

    /// Where two documents differ: paths such as `items` and `patient.name`, at most so many.
    static func differences(_ a: JSONValue, _ b: JSONValue, pathsMax: Int) -> [String] {
        var paths: [String] = []
        collect(a, b, path: "", pathsMax, &paths)
        return paths
    }

    private static func isIn(_ object: JSONObject, _ name: String) -> Bool {
        object.contains { DisplayText.same($0.name, name) }
    }

    private static func collect(_ a: JSONValue, _ b: JSONValue, path: String, _ pathsMax: Int, _ paths: inout [String])
    {
        guard paths.count < pathsMax, a != b else { return }
        guard let left = a.objectValue, let right = b.objectValue else {
            paths.append(DisplayText.safe(path))
            return
        }
        var names = left.names
        names += right.names.filter { !isIn(left, $0) }
        for name in names {
            let inner = path.isEmpty ? name : path + "." + name
            if isIn(left, name), isIn(right, name), let x = left[name], let y = right[name] {
                collect(x, y, path: inner, pathsMax, &paths)
            } else if paths.count < pathsMax {
                paths.append(DisplayText.safe(inner))
            }
        }
    }
}
