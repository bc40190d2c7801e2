import KithTransport

/// One line for each event, to whoever runs the node. A line that comes again and again is written once a minute with
/// the number of its repeats, so that a peer that misbehaves cannot fill a disk.
@LoopActor
final class NodeLog {
    private struct Memory {
        /// The last line of this key, as it would have been written.
        var line: String
        var firstSeconds: Double
        var repeats: Int
    }

    private let write: @Sendable (String) -> Void
    private var memory: [String: Memory] = [:]
    private var order: [String] = []
    private var timer: LoopTimer?
    /// Lines of this minute that strangers have caused, and those that were not written.
    private var strangerLines = 0
    private var strangerLinesDropped = 0
    private var strangerMinute: LoopTimer?

    init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - line: the text, without a line end. Control characters in it are replaced: it may quote a peer.
    ///   - key: what makes two lines the same; the line itself when left out.
    func callAsFunction(_ line: String, key: String? = nil) {
        let line = Self.printable(line)
        let key = key ?? line
        let now = Double(EventLoop.monotonicNanoseconds) / 1e9
        if var known = memory[key], now - known.firstSeconds < NodeLimits.logRepeatSeconds {
            known.repeats += 1
            known.line = line
            memory[key] = known
            scheduleSummary()
            return
        }
        if let known = memory[key], known.repeats > 0 {
            write("\(line) (and \(known.repeats) times in the last minute)")
        } else {
            write(line)
        }
        if memory.updateValue(Memory(line: line, firstSeconds: now, repeats: 0), forKey: key) == nil {
            order.append(key)
            if order.count > NodeLimits.logLinesRemembered { memory[order.removeFirst()] = nil }
        }
    }

    /// Writes a line about somebody who is not trusted. Whoever can make up names and addresses makes many: only so many a
    /// minute are written, the rest is counted.
    func aboutStranger(_ line: String, key: String? = nil) {
        if strangerMinute == nil {
            strangerMinute = EventLoop.shared.schedule(afterSeconds: 60) { [weak self] in self?.endStrangerMinute() }
        }
        guard strangerLines < NodeLimits.strangerLinesPerMinuteMax else {
            strangerLinesDropped += 1
            return
        }
        strangerLines += 1
        self(line, key: key)
    }

    private func endStrangerMinute() {
        strangerMinute = nil
        if strangerLinesDropped > 0 {
            write("\(strangerLinesDropped) more lines about unknown nodes in the last minute")
        }
        strangerLines = 0
        strangerLinesDropped = 0
    }

    private func scheduleSummary() {
        guard timer == nil else { return }
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.logRepeatSeconds) { [weak self] in self?.summarise()
        }
    }

    private func summarise() {
        timer = nil
        for key in order {
            guard let known = memory[key], known.repeats > 0 else { continue }
            write("\(known.line): \(known.repeats) times more in the last minute")
            memory[key]?.repeats = 0
        }
    }

    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else { return text }
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
    }
}
