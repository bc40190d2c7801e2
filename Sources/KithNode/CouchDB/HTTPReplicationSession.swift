import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithWire

/// One session with a CouchDB server: the machine (`CouchDBReplicator`), the store that it works on, and libcurl.
@HTTPClientActor
final class HTTPReplicationSession: HTTPTransferHandler {
    private let machine: CouchDBReplicator
    private let executor: StoreExecutor
    private let request: HTTPReplicationRequest
    private var transfers: [UInt64: HTTPTransfer] = [:]
    private var timer: (deadline: Double, timer: HTTPClientTimer)?
    private var isWorking = false
    private var hasEnded = false
    /// Called when the status may have changed.
    var onProgress: ((ReplicationStatus) -> Void)?
    /// Called once, when it has ended.
    var onEnd: ((CouchDBEnd, ReplicationStatus) -> Void)?

    /// What was under way when it failed.
    var suspects: [CouchDBConfiguration.RefusedRevision] { machine.suspects }

    init(_ configuration: CouchDBConfiguration, _ request: HTTPReplicationRequest, executor: StoreExecutor) {
        machine = CouchDBReplicator(configuration)
        self.executor = executor
        self.request = request
    }

    func start() {
        machine.start(now: now)
        work()
    }

    func noteChange() {
        machine.noteChange(now: now)
        work()
    }

    func stop() {
        machine.stop(now: now)
        work()
    }

    private var now: ReplicationInstant {
        ReplicationInstant(
            monotonicSeconds: Double(EventLoop.monotonicNanoseconds) / 1e9, wallSeconds: WallClock.seconds)
    }

    /// Does what the machine wants, until it wants nothing.
    private func work() {
        // What is done may call back at once.
        guard !isWorking, !hasEnded else { return }
        isWorking = true
        var actions = machine.takeActions()
        while !actions.isEmpty {
            for action in actions { perform(action) }
            actions = machine.takeActions()
        }
        isWorking = false
        if let end = machine.ended {
            hasEnded = true
            timer?.timer.cancel()
            for transfer in transfers.values { transfer.cancel() }
            transfers = [:]
            let onEnd = self.onEnd
            (self.onEnd, onProgress) = (nil, nil)
            onEnd?(end, machine.status)
            return
        }
        onProgress?(machine.status)
        schedule()
    }

    private func perform(_ action: CouchDBAction) {
        switch action {
        case .send(let number, let request): send(number, request)
        case .sendBody(let number, let bytes, let isLast): transfers[number]?.send(bytes, isLast: isLast)
        case .consumed(let number, let count): transfers[number]?.taken(count)
        case .cancel(let number): transfers.removeValue(forKey: number)?.cancel()
        case .store(let token, let request):
            executor.perform(request) { result in
                HTTPClientActor.post { [weak self] in
                    guard let self, !hasEnded else { return }
                    machine.complete(token, result, now: now)
                    work()
                }
            }
        }
    }

    private func send(_ number: UInt64, _ wanted: CouchDBRequest) {
        var outgoing = HTTPClientRequest(method: wanted.method, url: request.address.url + wanted.path)
        outgoing.headers = wanted.headers
        if !wanted.headers.contains(where: { $0.name == "Accept" }) {
            outgoing.headers.append(("Accept", "application/json"))
        }
        switch wanted.body {
        case .none: break
        case .bytes(let bytes): outgoing.body = .bytes(bytes)
        case .stream(let length): outgoing.body = .stream(length: length)
        }
        outgoing.credentials = request.credentials
        outgoing.authorityFile = request.authorityFile
        do {
            transfers[number] = try HTTPTransfer.start(outgoing, number: number, handler: self)
        } catch {
            machine.receiveFailure(number, error, now: now)
        }
    }

    private func schedule() {
        guard let deadline = machine.deadlineSeconds else {
            timer?.timer.cancel()
            timer = nil
            return
        }
        if let timer, timer.deadline <= deadline { return }
        timer?.timer.cancel()
        let delay = deadline - now.monotonicSeconds
        let new = HTTPClientActor.schedule(afterSeconds: delay) { [weak self] in
            guard let self, !hasEnded else { return }
            timer = nil
            machine.tick(now: now)
            work()
        }
        timer = (deadline, new)
    }

    // MARK: What libcurl tells

    func head(_ transfer: HTTPTransfer, status: Int, headers: HTTPHeaders) {
        machine.receiveHead(transfer.number, status: status, headers: headers, now: now)
        work()
    }

    func body(_ transfer: HTTPTransfer, _ bytes: [UInt8]) {
        machine.receiveBody(transfer.number, bytes, now: now)
        work()
    }

    func wantsBody(_ transfer: HTTPTransfer) {
        machine.wantsBody(transfer.number, now: now)
        work()
    }

    func end(_ transfer: HTTPTransfer) {
        transfers[transfer.number] = nil
        machine.receiveEnd(transfer.number, now: now)
        work()
    }

    func failed(_ transfer: HTTPTransfer, _ error: KithError) {
        transfers[transfer.number] = nil
        machine.receiveFailure(transfer.number, error, now: now)
        work()
    }
}
