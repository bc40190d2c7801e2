/// The documents that are measured with: about 300 bytes of JSON each, no two alike, the same in every run.
enum BenchmarkDocuments {
    static let wards = ["cardiology", "surgery", "paediatrics", "radiology", "emergency"]

    static func id(_ number: Int) -> String { "reading-" + padded(number) }

    /// Documents made beforehand, so that only what is done with them is measured.
    static func made(_ numbers: some Sequence<Int>, revision: Int = 0) -> [(id: String, body: [UInt8])] {
        numbers.map { (id($0), body($0, revision: revision)) }
    }

    static func body(_ number: Int, revision: Int = 0) -> [UInt8] {
        // A few multiplications spread the numbers, so that values do not compress into nothing.
        let a = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(revision)
        let b = (a ^ (a >> 29)) &* 0xBF58_476D_1CE4_E5B9
        return Array(
            """
            {"device":"monitor-\(a % 97)","patient":"p-\(b % 100_000)","pulse":\(40 + a % 120),"revision":\(revision),\
            "samples":[\(b % 1000),\(b >> 10 % 1000),\(b >> 20 % 1000),\(a >> 30 % 1000)],"taken":"2026-11-\(10 + a % 20)T\(10 + b % 14):\(10 + a % 50):00Z",\
            "temperature":\(35 + Double(b % 70) / 10),"type":"reading","unit":"bpm","ward":"\(wards[Int(b % 5)])","note":"checked at the bedside, no remarks, next reading in \(5 + a % 55) minutes"}
            """.utf8)
    }

    /// A document of about `bytes` bytes: many readings in one where that is more than one has.
    static func body(_ number: Int, bytes: Int) -> [UInt8] {
        guard bytes > 400 else { return body(number) }
        var text = Array("{\"readings\":[".utf8)
        var reading = 0
        while text.count < bytes {
            if reading > 0 { text.append(UInt8(ascii: ",")) }
            text += body(number &* 1_000_003 &+ reading)
            reading += 1
        }
        text += Array("]}".utf8)
        return text
    }

    private static func padded(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 7 - text.count)) + text
    }
}
