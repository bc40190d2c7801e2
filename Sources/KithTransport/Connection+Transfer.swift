import Glibc
import KithDocuments

// Reading, writing and ending, a bounded piece in each turn of the loop.
extension Connection {
    /// Reads until the socket is empty, the budget is used up, or nobody wants more.
    func receiveSome() {
        guard let socket else { return }
        if hasReceivedEnd { return finishIfGone(socket) }
        if socket.sawError, !mayRead {
            // Nobody reads, so the reset would stay unseen.
            let number = socket.takeError()
            return finish(connectionError(number == 0 ? ECONNRESET : number, remoteName: remoteName))
        }
        let buffer = EventLoop.shared.readBuffer
        var budget = TransportLimits.readBytesPerTurnMax
        defer { socket.compactUnread() }
        while mayRead {
            if budget <= 0 { return wantNextTurn() }
            let (count, outcome) = fill(buffer, from: socket)
            budget -= max(count, 1)
            if count > 0, phase == .open {
                onReceive?(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            }
            switch outcome {
            case .bytes: continue
            case .wouldBlock: return
            case .ended: return receivedEnd()
            case .failed(let error): return finish(error)
            }
        }
    }

    /// While closing, what arrives is read and dropped, so that a peer that only reads after it wrote is not stuck.
    private var mayRead: Bool {
        abortError == nil && (phase == .closing || (phase == .open && !isPaused && onReceive != nil))
    }

    /// Reads into the shared buffer; with TLS several records make one piece.
    private func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from socket: StreamSocket
    ) -> (count: Int, outcome: TLSSession.Transfer) {
        guard let base = buffer.baseAddress else { return (0, .wouldBlock) }
        guard let tls else {
            switch socket.receive(into: base, count: buffer.count) {
            case .bytes(let count): return (count, .bytes(count))
            case .wouldBlock: return (0, .wouldBlock)
            case .ended: return (0, .ended)
            case .failed(let number): return (0, .failed(connectionError(number, remoteName: remoteName)))
            }
        }
        var filled = 0
        while filled < buffer.count {
            let outcome = tls.read(into: base + filled, count: buffer.count - filled)
            guard case .bytes(let count) = outcome else { return (filled, outcome) }
            filled += count
        }
        return (filled, .bytes(filled))
    }

    private func receivedEnd() {
        hasReceivedEnd = true
        guard phase == .open else { return }
        if let onEnd {
            self.onEnd = nil
            onEnd()
        } else {
            close()
        }
        if let socket { finishIfGone(socket) }
    }

    /// A peer that has closed its socket waits for nothing: whoever makes an answer for it should know. With TLS, and
    /// while closing, the end has its own way.
    private func finishIfGone(_ socket: StreamSocket) {
        guard socket.isGone, phase == .open, tls == nil, abortError == nil else { return }
        finish(connectionError(EPIPE, remoteName: remoteName))
    }

    /// Writes until nothing waits, the socket is full, or the budget is used up.
    func sendSome() {
        guard let socket, bufferedByteCount > 0, abortError == nil else { return }
        let unsentBefore = socket.unsentByteCount
        var budget = TransportLimits.writeBytesPerTurnMax
        var isBlocked = !socket.flush()
        var failure: KithError?
        // Records are made one by one, and go to the kernel many at a time.
        socket.isGathering = tls != nil
        while !output.isEmpty, budget > 0, !isBlocked, failure == nil {
            let result = output.withFirst(TransportLimits.writeChunkBytes) { send($0, to: socket) }
            switch result {
            case .bytes(let count):
                output.consume(count)
                budget -= count
            case .wouldBlock: isBlocked = true
            case .ended: failure = connectionError(EPIPE, remoteName: remoteName)
            case .failed(let error): failure = error
            }
        }
        socket.isGathering = false
        if !socket.flush() { isBlocked = true }
        if let failure { return finish(failure) }
        if socket.writeErrno != 0 { return writingFailed(socket) }
        let hasProgress = budget < TransportLimits.writeBytesPerTurnMax || socket.unsentByteCount < unsentBefore
        if hasProgress, phase == .closing { restartLinger() }
        if !output.isEmpty, !isBlocked { wantNextTurn() }
        if isAboveLowWatermark, bufferedByteCount < options.lowWatermarkBytes {
            isAboveLowWatermark = false
            if phase == .open { onDrained?() }
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer, to socket: StreamSocket) -> TLSSession.Transfer {
        if let tls { return tls.write(bytes) }
        guard let base = bytes.baseAddress else { return .wouldBlock }
        switch socket.send(base, count: bytes.count) {
        case .bytes(let count): return .bytes(count)
        case .wouldBlock, .failed, .ended: return .wouldBlock  // `writeErrno` tells them apart
        }
    }

    /// The peer takes nothing any more. What it said before that (an alert, an answer) may still be there to read.
    private func writingFailed(_ socket: StreamSocket) {
        socket.isReadable = true
        socket.sawHangUp = true
        receiveSome()
        guard phase == .open || phase == .closing, abortError == nil else { return }
        if isQueued, mayRead, socket.isReadable { return }  // more to read in the next turn, then here again
        finish(connectionError(socket.writeErrno, remoteName: remoteName))
    }

    /// Says that this side has finished, and from here on only waits for the peer's end.
    func sendEnd() {
        guard let socket else { return }
        if let tls, !tls.endWriting() { return }
        socket.endWriting()
        if hasReceivedEnd { return finish(nil) }
        phase = .draining
        restartLinger()
    }

    /// Drops what arrives until the peer's end.
    func drain() {
        guard let socket, let base = EventLoop.shared.readBuffer.baseAddress else { return }
        var budget = TransportLimits.readBytesPerTurnMax
        while budget > 0 {
            switch socket.receive(into: base, count: EventLoop.shared.readBuffer.count) {
            case .bytes(let count): budget -= count
            case .wouldBlock: return
            case .ended: return finish(nil)
            case .failed(let number): return finish(connectionError(number, remoteName: remoteName))
            }
        }
        wantNextTurn()
    }

    func restartLinger() {
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: options.lingerSeconds) { [unowned self] in
            guard phase == .closing else { return finish(nil) }
            finish(
                KithError(
                    .timedOut,
                    "\(remoteName) did not take the last \(bufferedByteCount) bytes within \(options.lingerSeconds) seconds"
                ))
        }
    }
}
