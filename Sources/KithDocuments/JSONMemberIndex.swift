/// Where the members of a canonical JSON object lie in its text, those of objects in objects included; arrays are not
/// looked into.
///
/// Members are in the order of the text, each before those within its value, so one array holds the whole tree.
struct JSONMemberIndex {
    struct Member {
        /// Offset of the key's opening quote.
        var keyStart: UInt32
        /// Offset of the value, behind the colon.
        var valueStart: UInt32
        /// Offset behind the value.
        var valueEnd: UInt32
        /// Index of the first member that is not within this one's value.
        var next: UInt32
    }

    private(set) var members: [Member] = []

    /// Follows the text of an object; `nil` when it is none or not as `CanonicalJSON` writes it, as far as its outline
    /// goes. Whatever the bytes, keys of a result can be read with `JSONKey`.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= CanonicalPass.inputBytesMax, bytes.first == UInt8(ascii: "{") else { return nil }
        // The objects that are open: the index of the member whose value each is, -1 for the outermost.
        var open = [-1]
        var place = 1
        while let around = open.last {
            guard place < bytes.count else { return nil }
            if bytes[place] == UInt8(ascii: "}") {
                place += 1
                open.removeLast()
                if around >= 0 {
                    members[around].valueEnd = UInt32(truncatingIfNeeded: place)
                    members[around].next = UInt32(truncatingIfNeeded: members.count)
                    if place < bytes.count, bytes[place] == UInt8(ascii: ",") { place += 1 }
                }
                continue
            }
            guard let keyEnd = Self.stringEnd(bytes, place), keyEnd + 1 < bytes.count,
                bytes[keyEnd] == UInt8(ascii: ":")
            else { return nil }
            let valueStart = keyEnd + 1
            var member = Member(
                keyStart: UInt32(truncatingIfNeeded: place), valueStart: UInt32(truncatingIfNeeded: valueStart),
                valueEnd: 0, next: UInt32(truncatingIfNeeded: members.count + 1))
            if bytes[valueStart] == UInt8(ascii: "{") {
                guard open.count < DocumentLimits.nestingLevelsMax else { return nil }
                open.append(members.count)
                members.append(member)
                place = valueStart + 1
                continue
            }
            guard let valueEnd = Self.valueEnd(bytes, valueStart) else { return nil }
            member.valueEnd = UInt32(truncatingIfNeeded: valueEnd)
            members.append(member)
            place = valueEnd
            if place < bytes.count, bytes[place] == UInt8(ascii: ",") { place += 1 }
        }
        guard place == bytes.count else { return nil }
    }

    /// Behind the string that begins at `start`. Of escapes with `\u` only those of canonical form are let through.
    private static func stringEnd(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
        guard bytes[start] == UInt8(ascii: "\"") else { return nil }
        var place = start + 1
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if byte == UInt8(ascii: "\"") { return place }
            guard byte == UInt8(ascii: "\\") else { continue }
            guard place < bytes.count else { return nil }
            if bytes[place] == UInt8(ascii: "u") {
                guard place + 4 < bytes.count, bytes[place + 1] == UInt8(ascii: "0"),
                    bytes[place + 2] == UInt8(ascii: "0")
                else { return nil }
                place += 5
            } else {
                place += 1
            }
        }
        return nil
    }

    /// Behind the value, which is no object, that begins at `start`.
    private static func valueEnd(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
        var place = start
        var depth = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                guard let end = stringEnd(bytes, place) else { return nil }
                place = end
                if depth == 0 { return place }
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard depth > 0 else { return place > start ? place : nil }
                depth -= 1
                if depth == 0 { return place + 1 }
            case UInt8(ascii: ","):
                if depth == 0 { return place > start ? place : nil }
            default: break
            }
            place += 1
        }
        return nil
    }
}
