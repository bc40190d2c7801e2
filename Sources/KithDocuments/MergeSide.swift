/// One of the three texts of a merge, with the places of its members.
struct MergeSide {
    let bytes: UnsafeBufferPointer<UInt8>
    let members: [JSONMemberIndex.Member]

    /// The members within a member's value; none when that is no object.
    func inside(_ index: Int) -> Range<Int> { index + 1..<Int(members[index].next) }

    /// The member after this one in the same object.
    func after(_ index: Int) -> Int { Int(members[index].next) }

    func isObject(_ index: Int) -> Bool { bytes[Int(members[index].valueStart)] == UInt8(ascii: "{") }

    /// The canonical text of a member's value.
    func value(_ index: Int) -> UnsafeRawBufferPointer {
        slice(members[index].valueStart, members[index].valueEnd)
    }

    /// The key with its quotes and the colon.
    func keyText(_ index: Int) -> UnsafeRawBufferPointer {
        slice(members[index].keyStart, members[index].valueStart)
    }

    /// Negative, zero or positive as a member's key sorts before, with or after another's.
    func compareKey(_ index: Int, _ other: MergeSide, _ otherIndex: Int) -> Int {
        let left = keyText(index)
        let right = other.keyText(otherIndex)
        if ByteText.compare(left, right) == 0 { return 0 }
        guard let a = left.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let b = right.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return 0 }
        // Without quotes and colon.
        return JSONKey.compare(a + 1, left.count - 3, b + 1, right.count - 3)
    }

    private func slice(_ start: UInt32, _ end: UInt32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(end)]))
    }
}
