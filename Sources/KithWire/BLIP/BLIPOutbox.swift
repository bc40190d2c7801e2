/// The messages that have frames to send now, in the order of blip.md §9.
///
/// Messages that are not urgent take turns. An urgent one goes ahead of them, but leaves one of them between itself and
/// the urgent one before it, so that none starves.
struct BLIPOutbox {
    private var messages: [BLIPOutgoingMessage?] = []
    private var head = 0

    var count: Int { messages.count - head }
    var isEmpty: Bool { messages.count == head }
    var isNextUrgent: Bool { !isEmpty && messages[head]?.isUrgent == true }

    mutating func popFirst() -> BLIPOutgoingMessage? {
        guard head < messages.count else { return nil }
        let message = messages[head].take()
        head += 1
        if head == messages.count {
            messages.removeAll(keepingCapacity: head <= 1024)
            head = 0
        } else if head >= 64, head * 2 >= messages.count {
            messages.removeFirst(head)
            head = 0
        }
        return message
    }

    mutating func insert(_ message: BLIPOutgoingMessage) {
        guard message.isUrgent, count > 1 else {
            messages.append(message)
            return
        }
        messages.insert(message, at: urgentPosition(for: message))
    }

    /// All messages, which are then gone.
    mutating func removeAll() -> [BLIPOutgoingMessage] {
        let all = messages.compactMap { $0 }
        messages = []
        head = 0
        return all
    }

    private func urgentPosition(for message: BLIPOutgoingMessage) -> Int {
        // A request gets its number with its first frame; a new one stays behind the ones that wait for theirs, so that
        // requests go out in the order in which they were made.
        let isNewRequest = !message.hasStarted && message.type == BLIPFlags.typeRequest
        var index = messages.count - 1
        while index >= head {
            guard let other = messages[index] else { break }
            if other.isUrgent { return min(index + 2, messages.count) }
            if isNewRequest, !other.hasStarted, other.type == BLIPFlags.typeRequest { return index + 1 }
            index -= 1
        }
        return head + 1
    }
}
