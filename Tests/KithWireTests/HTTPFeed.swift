import KithWire

/// What a request parser told, with bodies joined, however it was fed.
enum HTTPRequestTold: Equatable {
    case request(HTTPRequestHead, body: [UInt8])
    case failed(Int)
}

/// What a response parser told, with bodies joined, however it was fed.
enum HTTPResponseTold: Equatable {
    case interim(Int)
    case response(HTTPResponseHead, body: [UInt8])
    case failed(Int)
}

/// Feeds requests in the pieces given until the first error, which is told last.
func tellRequests(
    _ pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits(), isEnded: Bool = false
) -> [HTTPRequestTold] {
    var parser = HTTPRequestParser(limits: limits)
    var told: [HTTPRequestTold] = []
    var head: HTTPRequestHead?
    var body: [UInt8] = []
    do throws(HTTPParseError) {
        for (index, piece) in pieces.enumerated() {
            piece.withUnsafeBytes { parser.receive($0) }
            if isEnded, index == pieces.count - 1 { parser.receiveEnd() }
            while let event = try parser.nextEvent() {
                switch event {
                case .head(let new):
                    head = new
                    body = []
                case .body(let bytes): body += bytes
                case .end:
                    if let head { told.append(.request(head, body: body)) }
                    head = nil
                }
            }
        }
    } catch {
        told.append(.failed(error.status))
    }
    return told
}

/// Feeds responses in the pieces given until the first error, which is told last.
func tellResponses(
    _ pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits(), isEnded: Bool = false, answersHead: Bool = false
) -> [HTTPResponseTold] {
    var parser = HTTPResponseParser(limits: limits)
    parser.answersHeadRequest = answersHead
    var told: [HTTPResponseTold] = []
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    do throws(HTTPParseError) {
        for (index, piece) in pieces.enumerated() {
            piece.withUnsafeBytes { parser.receive($0) }
            if isEnded, index == pieces.count - 1 { parser.receiveEnd() }
            while let event = try parser.nextEvent() {
                switch event {
                case .interim(let head): told.append(.interim(head.status))
                case .head(let new):
                    head = new
                    body = []
                case .body(let bytes): body += bytes
                case .end:
                    if let head { told.append(.response(head, body: body)) }
                    head = nil
                }
            }
        }
    } catch {
        told.append(.failed(error.status))
    }
    return told
}
