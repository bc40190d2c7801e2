import KithDocuments
import KithReplication

// Links, and what travels on them.

extension Simulation {
    func noticeChanges(_ node: SimulatedNode) throws {
        guard node.isUp else { return }
        let last = try node.lastSequences()
        for (link, end) in linkEnds(of: node) {
            guard let session = link.ends[end].session else { continue }
            // As a database tells it: only what has changed, so a collection that is new and empty is not told of.
            let changed = last.filter { $0.value > link.ends[end].toldThrough[$0.key] ?? 0 }
            link.ends[end].toldThrough.merge(changed) { $1 }
            session.databaseChanged(changed, now: now(node.index))
            try pump(link, end)
        }
    }

    /// The ends of links at a node; only a pair's newest link has sessions.
    func linkEnds(of node: SimulatedNode) -> [(link: SimulatedLink, end: Int)] {
        let kept = pairs.compactMap { pair -> (link: SimulatedLink, end: Int)? in
            guard let id = pair.link, pair.active == node.index || pair.passive == node.index else { return nil }
            return (links[id], pair.active == node.index ? 0 : 1)
        }
        guard !onceLinks.isEmpty || !clients.isEmpty else { return kept }
        let others = onceLinks + clients.compactMap(\.link)
        return kept
            + others.flatMap { id in (0..<2).filter { links[id].ends[$0].node == node.index }.map { (links[id], $0) } }
    }

    func deliver(_ link: SimulatedLink, _ end: Int, _ bytes: [UInt8]) throws {
        let isOpen = link.ends[end].session != nil || end == 0 && link.replicator != nil
        guard isOpen, seconds <= link.ends[end].deafAfterSeconds else { return }
        link.ends[end].arrived.append(bytes)
        report.mix(UInt64(bytes.count) &+ UInt64(link.id) << 32)
        if link.client != nil, end == 0 { try pumpClient(link) } else { try pump(link, end) }
    }

    /// Moves everything that can move at one end: frames in, requests to the store, frames out.
    func pump(_ link: SimulatedLink, _ end: Int) throws {
        guard let session = link.ends[end].session else { return }
        let now = now(link.ends[end].node)
        while !session.isCongested, session.ended == nil, !link.ends[end].arrived.isEmpty, mayRead(link, end) {
            let bytes = link.ends[end].arrived.removeFirst()
            link.ends[end].inFlight -= 1
            guard let webSocket = link.ends[end].webSocket else {
                report.frames += 1
                bytes.withUnsafeBytes { session.receive(frame: $0, now: now) }
                continue
            }
            // As the shell does it: what has arrived is taken in one go, also by a session that is congested meanwhile.
            try bytes.withUnsafeBytes { bytes in
                try webSocket.receive(bytes) { event in
                    guard case .message(.binary, let payload) = event else { return }
                    report.frames += 1
                    session.receive(frame: payload, now: now)
                }
            }
        }
        send(link, from: end, session)
        let other = 1 - end
        if let ended = session.ended {
            note("node \(link.ends[end].node) ends link \(link.id): \(ended.reason)")
            if link.isOnce, ended.closeCode == 1000 {
                try checkOnce(link, session)
            } else if ended.closeCode != 4001 {
                fail("node \(link.ends[end].node) ends link \(link.id) with \(ended.closeCode): \(ended.reason)")
            }
            // What was sent before may still arrive.
            let time = seconds + random.seconds(0...configuration.delaySecondsMax)
            link.cut(afterSeconds: end == 0 ? [seconds, time] : [time, seconds])
            loseLink(link, end)
            queue.add(.loseLink(link: link.id, end: other), at: time)
            return
        }
        if let deadline = session.nextDeadlineSeconds,
            link.ends[end].scheduledTickSeconds.map({ deadline < $0 }) ?? true
        {
            link.ends[end].scheduledTickSeconds = deadline
            queue.add(.tick(link: link.id, end: end), at: max(seconds, deadline))
        }
        try checkClaims(link, end)
        // The window to this end has room again.
        if let sender = link.ends[other].session { send(link, from: other, sender) }
        sendFromClient(link)
    }

    /// Whether an end reads now; one that reads at a trickle does so once in a while.
    private func mayRead(_ link: SimulatedLink, _ end: Int) -> Bool {
        let pause = link.ends[end].readPauseSeconds
        guard pause > 0 else { return true }
        guard seconds >= link.ends[end].readsAgainAtSeconds else { return false }
        link.ends[end].readsAgainAtSeconds = seconds + pause
        queue.add(.read(link: link.id, end: end), at: seconds + pause)
        return true
    }

    /// Has an end of a pair's links take so long for each piece that it reads.
    func slowDown(_ pair: Int, _ end: Int, _ pauseSeconds: Double) throws {
        note("pair \(pair): end \(end) reads a piece every \(pauseSeconds) s")
        pairs[pair].readPauseSeconds[end] = pauseSeconds
        guard let id = pairs[pair].link else { return }
        links[id].ends[end].readPauseSeconds = pauseSeconds
        try pump(links[id], end)
    }

    func send(_ link: SimulatedLink, from end: Int, _ session: ReplicationSession) {
        while link.ends[1 - end].inFlight < configuration.windowFrames {
            var bytes: [UInt8] = []
            if let webSocket = link.ends[end].webSocket {
                while bytes.count < 20_000,
                    webSocket.appendMessage(
                        .binary, to: &bytes, writingPayload: { session.appendNextFrame(to: &$0) })
                {}
                guard !bytes.isEmpty else { break }
                sendPieces(of: bytes, link, from: end)
            } else {
                guard session.appendNextFrame(to: &bytes) else { break }
                send(bytes, link, from: end)
            }
        }
        // After the frames, since taking one can ask for the next piece of a blob.
        let incarnation = nodes[link.ends[end].node].incarnation
        for request in session.takeStoreRequests() {
            queue.add(
                .performStore(link: link.id, end: end, incarnation: incarnation, request),
                at: seconds + random.seconds(0...configuration.storeSecondsMax))
        }
    }

    /// Cuts bytes anywhere, as packets and buffers do.
    private func sendPieces(of bytes: [UInt8], _ link: SimulatedLink, from end: Int) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let most = random.chance(0.2) ? 10 : random.chance(0.5) ? 1_500 : rest.count
            let piece = rest.prefix(random.int(1..<max(2, min(most, rest.count) + 1)))
            send(Array(piece), link, from: end)
            rest = rest.dropFirst(piece.count)
        }
    }

    func send(_ bytes: [UInt8], _ link: SimulatedLink, from end: Int) {
        let other = 1 - end
        link.ends[other].inFlight += 1
        var arrival = max(
            link.ends[other].lastArrivalSeconds, link.ends[other].stalledUntilSeconds,
            seconds + random.seconds(0...configuration.delaySecondsMax))
        if let rate = configuration.bytesPerSecond { arrival += Double(bytes.count) / rate }
        link.ends[other].lastArrivalSeconds = arrival
        guard arrival <= link.ends[other].deafAfterSeconds else { return }
        queue.add(.deliver(link: link.id, end: other, bytes: bytes), at: arrival)
    }

    func dial(_ index: Int) throws {
        pairs[index].isDialling = false
        let pair = pairs[index]
        let active = nodes[pair.active]
        let passive = nodes[pair.passive]
        guard !pair.isCut, pair.stalledUntilSeconds <= seconds, active.isUp, passive.isUp else { return redial(index) }
        if let old = pair.link {
            guard links[old].ends[0].session == nil else { return }
            // The passive end may still hold the old link: the new one takes its place.
            links[old].cut(afterSeconds: [seconds, seconds])
            links[old].ends[1].session = nil
        }
        let link = SimulatedLink(
            id: links.count, active: active, passive: passive, carriesBytes: configuration.carriesBytes)
        links.append(link)
        pairs[index].link = link.id
        note("node \(pair.active) opens link \(link.id) to node \(pair.passive)")
        for end in 0..<2 {
            link.ends[end].directions = pair.directions[end]
            link.ends[end].filter = pair.filters[end]
            link.ends[end].readPauseSeconds = pair.readPauseSeconds[end]
        }
        try start(link)
    }

    /// Opens a link beside the one that a pair keeps, which ends when everything has travelled.
    func dialOnce(_ index: Int, isReversed: Bool, documentIDs: Set<DocumentID>?) throws {
        let pair = pairs[index]
        guard !pair.isCut, pair.stalledUntilSeconds <= seconds, nodes[pair.active].isUp, nodes[pair.passive].isUp else {
            return
        }
        let active = nodes[isReversed ? pair.passive : pair.active]
        let passive = nodes[isReversed ? pair.active : pair.passive]
        let link = SimulatedLink(id: links.count, active: active, passive: passive, carriesBytes: false)
        link.isOnce = true
        link.documentIDs = documentIDs
        links.append(link)
        onceLinks.append(link.id)
        note("node \(active.index) opens link \(link.id) to node \(passive.index), once")
        for end in 0..<2 {
            link.ends[end].directions = pair.directions[isReversed ? 1 - end : end]
            link.ends[end].filter = pair.filters[isReversed ? 1 - end : end]
            link.beganThrough[end] = try nodes[link.ends[end].node].lastSequences()
        }
        try start(link)
    }

    private func start(_ link: SimulatedLink) throws {
        let limits = configuration.limits
        for end in [1, 0] {
            let node = nodes[link.ends[end].node]
            let peer = nodes[link.ends[1 - end].node]
            let tag = link.ends[end].filter?.tag
            let name = "cp-\(node.database.privateID)-\(node.index)-\(peer.index)"
            let session = ReplicationSession(
                ReplicationConfiguration(
                    role: end == 0 ? .active : .passive, checkpointName: tag.map { name + "-" + $0 } ?? name,
                    progressName: "progress/\(peer.index)", peerIsKith: true,
                    directions: configuration.sabotage == .ignoresDirections ? .both : link.ends[end].directions,
                    isContinuous: end == 1 || !link.isOnce, documentIDs: end == 0 ? link.documentIDs : nil,
                    pairDirections: link.isOnce ? link.ends[end].directions : nil, filterTag: tag,
                    limits: limits[node.index % limits.count]))
            link.ends[end].session = session
            link.ends[end].toldThrough = try node.lastSequences()
            session.start(lastSequence: link.ends[end].toldThrough[.default] ?? 0, now: now(node.index))
            try pump(link, end)
        }
    }

    /// People allow something else: the link ends, and the next one has it.
    func setDirections(_ index: Int) {
        pairs[index].directions = random.chance(0.3) ? [.both, .both] : drawDirections()
        note("pair \(index) now allows \(pairs[index].directions.map(\.name))")
        endLink(ofPair: index)
    }

    /// An app has another filter: as with directions.
    func setFilters(_ index: Int) {
        pairs[index].filters = drawFilters()
        note("pair \(index) now has the filters \(pairs[index].filters.map { $0?.number ?? -1 })")
        endLink(ofPair: index)
    }

    private func endLink(ofPair index: Int) {
        guard let id = pairs[index].link else { return }
        links[id].cut(afterSeconds: [seconds, seconds])
        for end in [1, 0] { loseLink(links[id], end) }
    }

    func redial(_ index: Int) {
        guard !pairs[index].isDialling else { return }
        pairs[index].isDialling = true
        queue.add(.dial(pair: index), at: seconds + random.seconds(0.05...2))
    }

    /// The cable is out: what is on its way arrives in part, and each end finds out in its own time.
    func cut(_ pair: Int, _ duration: Double) {
        note("pair \(pair) is cut")
        pairs[pair].isCut = true
        queue.add(.heal(pair: pair), at: min(seconds + duration, configuration.busySeconds))
        guard let id = pairs[pair].link else { return }
        links[id].cut(afterSeconds: (0..<2).map { _ in seconds + random.seconds(0...configuration.delaySecondsMax) })
        for end in 0..<2 { queue.add(.loseLink(link: id, end: end), at: seconds + random.seconds(0...8)) }
    }

    /// Nothing arrives at some ends for a while, though the other way may be open. What is short is only late; when it is
    /// longer, an end that hears nothing gives the link up.
    func stall(_ pair: Int, _ ends: [Int], _ duration: Double) {
        let until = min(seconds + duration, configuration.busySeconds)
        note("pair \(pair): nothing reaches ends \(ends) until \(until)")
        pairs[pair].stalledUntilSeconds = max(pairs[pair].stalledUntilSeconds, until)
        guard let id = pairs[pair].link else { return }
        for end in ends {
            links[id].ends[end].stalledUntilSeconds = until
            let silence = random.seconds(10...12)
            guard until - seconds > silence else { continue }
            queue.add(.loseLink(link: id, end: end), at: seconds + silence)
            queue.add(
                .loseLink(link: id, end: 1 - end),
                at: seconds + silence + random.seconds(0...configuration.delaySecondsMax))
        }
    }

    func loseLink(_ link: SimulatedLink, _ end: Int) {
        if link.client != nil, end == 0 { return loseClient(link) }
        guard link.ends[end].session != nil else { return }
        link.ends[end].session = nil
        link.ends[end].arrived = []
        link.ends[end].deafAfterSeconds = min(link.ends[end].deafAfterSeconds, seconds)
        if link.isOnce, link.ends[1 - end].session == nil { onceLinks.removeAll { $0 == link.id } }
        guard end == 0, let pair = pairs.firstIndex(where: { $0.link == link.id }) else { return }
        redial(pair)
    }
}
