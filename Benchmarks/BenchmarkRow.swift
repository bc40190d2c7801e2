import KithDocuments

/// One measured figure.
struct BenchmarkRow {
    var suite: String
    var row: String
    var figure: Double
    var unit: String
    /// The figure over its reference, measured in the same run; `nil` where there is none.
    var ratio: Double?
    /// What the ratio (or, without one, the figure) must reach; `nil` where nothing is promised yet.
    var bar: Double?
    /// Whether less is better, so that the bar is the most that it may be.
    var isCost = false

    var holds: Bool? { bar.map { isCost ? (ratio ?? figure) <= $0 : (ratio ?? figure) >= $0 } }

    var json: JSONValue {
        func number(_ value: Double?) -> JSONValue { value.map { JSONValue.double(Self.rounded($0)) } ?? .null }
        var object = JSONObject()
        object["suite"] = .string(suite)
        object["row"] = .string(row)
        object["figure"] = number(figure)
        object["unit"] = .string(unit)
        object["ratio"] = number(ratio)
        object["bar"] = number(bar)
        object["bar_is"] = bar == nil ? .null : .string(isCost ? "most" : "least")
        object["holds"] = holds.map { JSONValue.bool($0) } ?? .null
        return .object(object)
    }

    /// Three digits say all that a noisy machine can.
    static func rounded(_ value: Double) -> Double {
        guard value != 0, value.isFinite else { return value }
        var scale = 1.0
        while value.magnitude * scale < 100 { scale *= 10 }
        return (value * scale).rounded() / scale
    }
}
