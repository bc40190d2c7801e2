import KithWire

/// What a WebSocket machine told, with everything copied.
enum WebSocketTold: Equatable {
    case message(WebSocketOpcode, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case failed(UInt16)

    init(_ event: WebSocketEvent) {
        switch event {
        case .message(let opcode, let bytes): self = .message(opcode, Array(bytes))
        case .ping(let bytes): self = .ping(Array(bytes))
        case .pong(let bytes): self = .pong(Array(bytes))
        case .close(let code, let reason): self = .close(code, reason)
        }
    }

    /// The code that a failure closes with.
    var failureCode: UInt16? {
        if case .failed(let code) = self { return code }
        return nil
    }
}

extension WebSocketMachine {
    /// Takes the bytes in the pieces given, until the first error, which is told last.
    func told(_ pieces: [[UInt8]]) -> [WebSocketTold] {
        var told: [WebSocketTold] = []
        for piece in pieces {
            piece.withUnsafeBytes { bytes in
                do throws(WebSocketError) {
                    try receive(bytes) { told.append(WebSocketTold($0)) }
                } catch {
                    told.append(.failed(error.closeCode))
                }
            }
            if told.last?.failureCode != nil { break }
        }
        return told
    }
}

/// Every way to feed bytes that a decoder test uses: whole, one at a time, and cut in two at every position.
func everyFeed(_ bytes: [UInt8]) -> [[[UInt8]]] {
    var feeds = [[bytes], bytes.map { [$0] }]
    for cut in 0...bytes.count { feeds.append([Array(bytes[..<cut]), Array(bytes[cut...])]) }
    return feeds
}
