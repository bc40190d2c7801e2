/// One pass over a JSON text that checks it and writes its canonical form.
///
/// Stretches of the input that are canonical already are not copied byte by byte: `runStart` marks where the stretch
/// that is still to be copied begins, and `flush` copies it when something has to be written differently. A text that is
/// canonical as a whole, the usual case between two nodes, costs the check and one copy.
///
/// There is no recursion: open arrays and objects are on `stack`, together with the members of open objects (where each
/// key is in the input and where the member begins in the output). Members are put in order when their object ends, and
/// only if they came out of order.
///
/// The output never needs more room than the input, except for numbers (`1e14` becomes 15 digits), and those never more
/// than four times theirs; when the room does not suffice, the pass stops with `needsMoreRoom` and is made again.
///
/// Ownership: input and output belong to the caller and outlive the pass; `stack` and `scratch` belong to the pass and
/// are freed when it ends.
struct CanonicalPass: ~Copyable {
    /// What may be at the top.
    enum Mode {
        /// Any value.
        case value
        /// An object without a name that begins with `_`.
        case body
        /// An object; the known names that begin with `_` are taken out.
        case document
        /// An object; `_attachments` is taken out, any other name that begins with `_` is an error.
        case transfer
    }

    /// A top-level name that `Mode.document` takes out, and `Mode.transfer` one of them.
    enum Reserved: UInt8, CaseIterable {
        case id, revision, deleted, attachments, revisions, expiry
        /// What CouchDB tells with a document and takes back without a word, so that what was read can be written.
        case conflicts, deletedConflicts, revisionsInfo, localSequence

        var name: StaticString {
            switch self {
            case .id: "_id"
            case .revision: "_rev"
            case .deleted: "_deleted"
            case .attachments: "_attachments"
            case .revisions: "_revisions"
            case .expiry: "_exp"
            case .conflicts: "_conflicts"
            case .deletedConflicts: "_deleted_conflicts"
            case .revisionsInfo: "_revs_info"
            case .localSequence: "_local_seq"
            }
        }
    }

    /// An open container, or a member of an open object.
    private struct Slot {
        /// Container: where the members of the one around it begin on the stack. Member: offset of the key's first byte
        /// behind the quote.
        var first: UInt32
        /// Container: state of the one around it. Member: length of the key's text.
        var second: UInt32
        /// Member: where it begins in the output.
        var outputStart: UInt32
        /// Member: `Slot.escaped`, `Slot.dropped`, and while members are sorted, where it ends in the output.
        var third: UInt32

        static let escaped: UInt32 = 1
        static let dropped: UInt32 = 2
        static let flags: UInt32 = 3
    }

    /// The text must not be larger than this, so that offsets in the output fit a slot with two bits to spare.
    static let inputBytesMax = 1 << 27

    private let base: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private var next: UnsafePointer<UInt8>
    private var runStart: UnsafePointer<UInt8>
    private let output: UnsafeMutablePointer<UInt8>
    private let outputCapacity: Int
    private var outputCount = 0

    private var stack: UnsafeMutablePointer<Slot>
    private var stackCount = 0
    private var stackCapacity: Int
    /// Where the members of the innermost open object begin on the stack.
    private var membersStart = 0
    private var depth = 0
    private var isInObject = false
    private var isSorted = true

    private var scratch: UnsafeMutablePointer<UInt8>?
    private var scratchCapacity = 0

    private let mode: Mode
    private var reserved: Reserved?
    private var keptTopLevel = 0
    private var hasDroppedLast = false
    /// The canonical values of the reserved names that were taken out.
    private(set) var takenOut: [(Reserved, [UInt8])] = []
    /// Set when the output buffer was too small; the pass then ended early without a result.
    private(set) var needsMoreRoom = false

    /// - Parameters:
    ///   - input: not empty, below `inputBytesMax`.
    ///   - output: at least as large as the input.
    init(input: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>, mode: Mode) {
        // Both are not empty, so they have a base address.
        base = input.baseAddress.unsafelyUnwrapped
        end = base + input.count
        next = base
        runStart = base
        self.output = output.baseAddress.unsafelyUnwrapped
        outputCapacity = output.count
        self.mode = mode
        stackCapacity = 48
        stack = .allocate(capacity: 48)
    }

    deinit {
        stack.deallocate()
        scratch?.deallocate()
    }

    /// Reads the whole text.
    ///
    /// - Returns: how many bytes of the output are the canonical form.
    mutating func run() throws(JSONFailure) -> Int {
        if end - next >= 3, next[0] == 0xEF, next[1] == 0xBB, next[2] == 0xBF { throw failure(.byteOrderMark, next) }
        skipBlanks()
        if mode != .value {
            guard next < end else { throw failure(.unexpectedEnd, next) }
            guard next.pointee == UInt8(ascii: "{") else { throw failure(.notAnObject, next) }
        }
        repeat {
            // A value begins here; a container's first value or key is read in the next round.
            guard next < end else { throw failure(.unexpectedEnd, next) }
            switch next.pointee {
            case UInt8(ascii: "\""):
                _ = try string()
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                try number()
            case UInt8(ascii: "{"):
                try open(isObject: true)
                if next < end, next.pointee == UInt8(ascii: "}") {
                    next += 1
                    close()
                } else {
                    try key()
                    continue
                }
            case UInt8(ascii: "["):
                try open(isObject: false)
                if next < end, next.pointee == UInt8(ascii: "]") {
                    next += 1
                    close()
                } else {
                    continue
                }
            case UInt8(ascii: "t"): try literal("true")
            case UInt8(ascii: "f"): try literal("false")
            case UInt8(ascii: "n"): try literal("null")
            default: throw failure(.unexpectedByte, next)
            }
            guard !needsMoreRoom else { return 0 }
            try afterValue()
        } while depth > 0 && !needsMoreRoom
        guard !needsMoreRoom else { return 0 }
        skipBlanks()
        guard next == end else { throw failure(.trailingBytes, next) }
        flush()
        return outputCount
    }

    // MARK: Structure

    /// After a value: its separator, and what it ends; stands before the next value, or the text's end.
    @inline(__always)
    private mutating func afterValue() throws(JSONFailure) {
        while depth > 0 {
            if let name = reserved, depth == 1 { takeOut(name) }
            skipBlanks()
            guard next < end else { throw failure(.unexpectedEnd, next) }
            let byte = next.pointee
            if byte == UInt8(ascii: ",") {
                next += 1
                if hasDroppedLast { dropComma() }
                skipBlanks()
                if isInObject { try key() }
                return
            }
            guard byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw failure(.unexpectedByte, next)
            }
            if isInObject {
                if hasDroppedLast { dropLastComma() }
                if !isSorted { try sortMembers() }
            }
            next += 1
            close()
        }
    }

    @inline(__always)
    private mutating func open(isObject: Bool) throws(JSONFailure) {
        guard depth < DocumentLimits.nestingLevelsMax else { throw failure(.tooDeep, next) }
        depth += 1
        push(
            Slot(
                first: UInt32(truncatingIfNeeded: membersStart), second: (isInObject ? 1 : 0) | (isSorted ? 2 : 0),
                outputStart: 0, third: 0))
        membersStart = stackCount
        isInObject = isObject
        isSorted = true
        next += 1
        skipBlanks()
    }

    @inline(__always)
    private mutating func close() {
        depth -= 1
        stackCount = membersStart - 1
        let around = stack[stackCount]
        membersStart = Int(around.first)
        isInObject = around.second & 1 != 0
        isSorted = around.second & 2 != 0
    }

    @inline(__always)
    private mutating func push(_ slot: Slot) {
        if stackCount == stackCapacity { growStack() }
        (stack + stackCount).initialize(to: slot)
        stackCount += 1
    }

    @inline(never)
    private mutating func growStack() {
        let larger = UnsafeMutablePointer<Slot>.allocate(capacity: stackCapacity * 2)
        larger.moveInitialize(from: stack, count: stackCount)
        stack.deallocate()
        stack = larger
        stackCapacity *= 2
    }

    /// A key, its colon and the blanks around it.
    @inline(__always)
    private mutating func key() throws(JSONFailure) {
        guard next < end else { throw failure(.unexpectedEnd, next) }
        guard next.pointee == UInt8(ascii: "\"") else { throw failure(.unexpectedByte, next) }
        let start = next
        let outputStart = outputCount + (start - runStart)
        let isEscaped = try string()
        let text = start + 1
        let length = next - text - 1
        let slot = Slot(
            first: UInt32(truncatingIfNeeded: text - base), second: UInt32(truncatingIfNeeded: length),
            outputStart: UInt32(truncatingIfNeeded: outputStart), third: isEscaped ? Slot.escaped : 0)
        if stackCount > membersStart, isSorted {
            let order = compareKeys(stack[stackCount - 1], slot)
            if order >= 0 {
                guard order > 0 else { throw failure(.duplicateKey, start) }
                isSorted = false
            }
        }
        push(slot)
        if depth == 1, mode != .value { try topLevelKey(start, isEscaped: isEscaped, length: length) }
        skipBlanks()
        guard next < end else { throw failure(.unexpectedEnd, next) }
        guard next.pointee == UInt8(ascii: ":") else { throw failure(.unexpectedByte, next) }
        next += 1
        skipBlanks()
    }

    @inline(__always)
    private func compareKeys(_ a: Slot, _ b: Slot) -> Int {
        let left = base + Int(a.first)
        let right = base + Int(b.first)
        if (a.third | b.third) & Slot.escaped != 0 {
            return JSONKey.compare(left, Int(a.second), right, Int(b.second))
        }
        return ByteText.compare(
            UnsafeRawBufferPointer(start: left, count: Int(a.second)),
            UnsafeRawBufferPointer(start: right, count: Int(b.second)))
    }

    /// Puts the members of the innermost object, whose end is next, into the order of their keys.
    @inline(never)
    private mutating func sortMembers() throws(JSONFailure) {
        flush()
        var members = UnsafeMutableBufferPointer(start: stack + membersStart, count: stackCount - membersStart)
        let regionStart = Int(members[0].outputStart)
        let regionCount = outputCount - regionStart
        for index in members.indices {
            let isLast = index + 1 == members.count
            // A member ends before the comma before the next one.
            let memberEnd = isLast ? outputCount : Int(members[index + 1].outputStart) - 1
            members[index].third = members[index].third & Slot.flags | UInt32(truncatingIfNeeded: memberEnd) << 2
        }
        members.sort { compareKeys($0, $1) < 0 }
        for index in members.indices.dropFirst() where compareKeys(members[index - 1], members[index]) == 0 {
            let later = max(members[index - 1].first, members[index].first)
            throw failure(.duplicateKey, base + Int(later) - 1)
        }
        guard regionCount > 0 else { return }
        if scratchCapacity < regionCount {
            scratch?.deallocate()
            scratch = .allocate(capacity: regionCount)
            scratchCapacity = regionCount
        }
        guard let scratch else { return }
        scratch.initialize(from: output + regionStart, count: regionCount)
        var write = output + regionStart
        for member in members where member.third & Slot.dropped == 0 {
            if write > output + regionStart {
                write.pointee = UInt8(ascii: ",")
                write += 1
            }
            let count = Int(member.third >> 2) - Int(member.outputStart)
            write.update(from: scratch + (Int(member.outputStart) - regionStart), count: count)
            write += count
        }
    }

    // MARK: Reserved names

    private mutating func topLevelKey(
        _ start: UnsafePointer<UInt8>, isEscaped: Bool, length: Int
    ) throws(JSONFailure) {
        hasDroppedLast = false
        guard length > 0, start[1] == UInt8(ascii: "_") || isEscaped else {
            keptTopLevel += 1
            return
        }
        let name = JSONKey.bytes(start + 1, count: length)
        guard name.first == UInt8(ascii: "_") else {
            keptTopLevel += 1
            return
        }
        guard mode == .document || mode == .transfer else { throw failure(.reservedName, start) }
        let known = Reserved.allCases.first { candidate in
            let text = candidate.name
            return text.utf8CodeUnitCount == name.count
                && UnsafeBufferPointer(start: text.utf8Start, count: name.count).elementsEqual(name)
        }
        guard let known, mode == .document || known == .attachments else { throw failure(.reservedName, start) }
        reserved = known
    }

    /// Takes the top-level member that has just ended out of the output again.
    private mutating func takeOut(_ name: Reserved) {
        flush()
        reserved = nil
        // Before the value: the name, two quotes and a colon.
        let memberStart = Int(stack[stackCount - 1].outputStart)
        let valueStart = memberStart + name.name.utf8CodeUnitCount + 3
        takenOut.append((name, Array(UnsafeBufferPointer(start: output + valueStart, count: outputCount - valueStart))))
        outputCount = memberStart
        stack[stackCount - 1].third |= Slot.dropped
        hasDroppedLast = true
    }

    /// Leaves out the comma that was just read: the one before the member that was taken out stays.
    private mutating func dropComma() {
        runStart = next
        hasDroppedLast = false
    }

    /// At the end of the top object, whose last member was taken out: leaves out the comma before that.
    private mutating func dropLastComma() {
        flush()
        if keptTopLevel > 0 { outputCount -= 1 }
        hasDroppedLast = false
    }

    // MARK: Output

    /// Copies the canonical stretch of the input that ends here.
    @inline(__always)
    private mutating func flush() {
        let count = next - runStart
        if count > 0 {
            (output + outputCount).initialize(from: runStart, count: count)
            outputCount += count
        }
        runStart = next
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        (output + outputCount).initialize(to: byte)
        outputCount += 1
    }

    @inline(__always)
    private func failure(_ kind: JSONFailure.Kind, _ place: UnsafePointer<UInt8>) -> JSONFailure {
        JSONFailure(kind: kind, offset: place - base)
    }

    // MARK: Tokens

    @inline(__always)
    private mutating func skipBlanks() {
        guard next < end, next.pointee <= UInt8(ascii: " ") else { return }
        skipSomeBlanks()
    }

    private mutating func skipSomeBlanks() {
        flush()
        while next < end {
            switch next.pointee {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): next += 1
            default:
                runStart = next
                return
            }
        }
        runStart = next
    }

    @inline(__always)
    private mutating func literal(_ text: StaticString) throws(JSONFailure) {
        let count = text.utf8CodeUnitCount
        for index in 0..<count {
            guard next + index < end else { throw failure(.unexpectedEnd, end) }
            guard next[index] == text.utf8Start[index] else { throw failure(.unexpectedByte, next) }
        }
        next += count
    }

    /// A string with its quotes.
    ///
    /// - Returns: whether it has a backslash in it.
    @inline(__always)
    private mutating func string() throws(JSONFailure) -> Bool {
        var isEscaped = false
        var place = next + 1
        while true {
            place = Self.skipPlain(place, end)
            guard place < end else { throw failure(.unexpectedEnd, end) }
            let byte = place.pointee
            if byte == UInt8(ascii: "\"") {
                next = place + 1
                return isEscaped
            }
            if byte >= 0x80 {
                let length = UTF8Bytes.sequenceLength(place, end)
                guard length > 0 else { throw failure(.badUTF8, place) }
                place += length
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
                next = place
                try escape()
                place = next
            } else {
                throw failure(.controlCharacter, place)
            }
        }
    }

    /// The first byte from `start` on that is a quote, a backslash, a control character or not ASCII; or the end.
    @inline(__always)
    private static func skipPlain(
        _ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var place = start
        while end - place >= 8 {
            // Eight bytes at once: the high bit of each byte that is special. A borrow can only mark bytes above a
            // byte that is marked rightly, and the lowest mark is what counts.
            let word = UInt64(littleEndian: UnsafeRawPointer(place).loadUnaligned(as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            let marks =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word | word)
                & highs
            if marks != 0 { return place + marks.trailingZeroBitCount >> 3 }
            place += 8
        }
        while place < end {
            let byte = place.pointee
            if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { return place }
            place += 1
        }
        return place
    }

    /// An escape in a string; the shortest legal form of what it stands for is written.
    private mutating func escape() throws(JSONFailure) {
        guard end - next >= 2 else { throw failure(.unexpectedEnd, end) }
        switch next[1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            next += 2
        case UInt8(ascii: "/"):
            flush()
            put(UInt8(ascii: "/"))
            next += 2
            runStart = next
        case UInt8(ascii: "u"):
            try unicodeEscape()
        default:
            throw failure(.badEscape, next)
        }
    }

    private mutating func unicodeEscape() throws(JSONFailure) {
        guard end - next >= 6 else { throw failure(.unexpectedEnd, end) }
        var scalar = Hex.value4(next + 2)
        var length = 6
        guard scalar <= 0xFFFF else { throw failure(.badEscape, next) }
        if scalar >= 0xD800, scalar < 0xE000 {
            guard scalar < 0xDC00, end - next >= 12, next[6] == UInt8(ascii: "\\"), next[7] == UInt8(ascii: "u") else {
                throw failure(.loneSurrogate, next)
            }
            let low = Hex.value4(next + 8)
            guard low >= 0xDC00, low < 0xE000 else { throw failure(.loneSurrogate, next) }
            scalar = 0x10000 + (scalar - 0xD800) << 10 + low - 0xDC00
            length = 12
        }
        flush()
        next += length
        runStart = next
        if scalar >= 0x20, scalar != 0x22, scalar != 0x5C {
            var (bytes, count) = UTF8Bytes.packed(scalar)
            while count > 0 {
                put(UInt8(truncatingIfNeeded: bytes))
                bytes >>= 8
                count -= 1
            }
            return
        }
        put(UInt8(ascii: "\\"))
        if let short = JSONEscape.short(UInt8(scalar)) {
            put(short)
            return
        }
        put(UInt8(ascii: "u"))
        put(UInt8(ascii: "0"))
        put(UInt8(ascii: "0"))
        put(Hex.digit(UInt8(scalar >> 4)))
        put(Hex.digit(UInt8(scalar & 0xF)))
    }

    @inline(__always)
    private mutating func number() throws(JSONFailure) {
        let start = next
        var place = start
        if place.pointee == UInt8(ascii: "-") {
            place += 1
            guard place < end else { throw failure(.unexpectedEnd, end) }
        }
        let first = place.pointee
        guard first &- UInt8(ascii: "0") < 10 else { throw failure(.badNumber, start) }
        place += 1
        if first == UInt8(ascii: "0") {
            if place < end, place.pointee &- UInt8(ascii: "0") < 10 { throw failure(.badNumber, start) }
        } else {
            while place < end, place.pointee &- UInt8(ascii: "0") < 10 { place += 1 }
        }
        if place < end, place.pointee == UInt8(ascii: ".") || place.pointee | 0x20 == UInt8(ascii: "e") {
            try fraction(start, from: place)
            return
        }
        guard place - start <= DocumentLimits.numberCharactersMax else { throw failure(.longNumber, start) }
        if first == UInt8(ascii: "0"), place - start == 2 {
            // -0
            flush()
            put(first)
            runStart = place
        }
        next = place
    }

    /// The rest of a number that has a point or an exponent; `place` is there.
    private mutating func fraction(
        _ start: UnsafePointer<UInt8>, from pointOrExponent: UnsafePointer<UInt8>
    ) throws(JSONFailure) {
        var place = pointOrExponent
        func skipDigits() -> Int {
            let first = place
            while place < end, place.pointee &- UInt8(ascii: "0") < 10 { place += 1 }
            return place - first
        }
        if place.pointee == UInt8(ascii: ".") {
            place += 1
            guard skipDigits() > 0 else { throw failure(place < end ? .badNumber : .unexpectedEnd, place) }
        }
        if place < end, place.pointee | 0x20 == UInt8(ascii: "e") {
            place += 1
            if place < end, place.pointee == UInt8(ascii: "+") || place.pointee == UInt8(ascii: "-") { place += 1 }
            guard skipDigits() > 0 else { throw failure(place < end ? .badNumber : .unexpectedEnd, place) }
        }
        let length = place - start
        guard length <= DocumentLimits.numberCharactersMax else { throw failure(.longNumber, start) }
        guard case .number(let number) = NumberText.read(UnsafeBufferPointer(start: start, count: length)) else {
            throw failure(.infiniteNumber, start)
        }
        flush()
        // Room for this number, and for the rest of the input as it is.
        guard outputCapacity - outputCount >= end - place + NumberText.bytesMax else {
            needsMoreRoom = true
            return
        }
        outputCount += number.write(to: output + outputCount)
        next = place
        runStart = place
    }
}

/// The escapes of JSON strings with a letter.
enum JSONEscape {
    /// What stands behind the backslash for this byte, or `nil` when it has no short escape.
    @inline(__always)
    static func short(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x22, 0x5C: byte
        case 0x08: UInt8(ascii: "b")
        case 0x0C: UInt8(ascii: "f")
        case 0x0A: UInt8(ascii: "n")
        case 0x0D: UInt8(ascii: "r")
        case 0x09: UInt8(ascii: "t")
        default: nil
        }
    }
}
