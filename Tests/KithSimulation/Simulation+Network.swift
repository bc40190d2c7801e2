import KithDocuments
import KithReplication
import KithStore

// Links, and what travels on them.

extension Simulation {
    func noticeChanges(_ node: SimulatedNode) throws {
        guard node.isUp else { return }
        let last = try node.lastSequence()
        for link in links {
            for end in 0..<2 where link.ends[end].node == node.index {
                guard let session = link.ends[end].session else { continue }
                link.ends[end].toldThrough = last
                session.databaseChanged(lastSequence: last, now: now)
                try pump(link, end)
            }
        }
    }

    func deliver(_ link: SimulatedLink, _ end: Int, _ frame: [UInt8]) throws {
        guard link.ends[end].session != nil, !link.isCut else { return }
        link.ends[end].arrived.append(frame)
        report.frames += 1
        report.mix(UInt64(frame.count) &+ UInt64(link.id) << 32)
        try pump(link, end)
    }

    /// Moves everything that can move at one end: frames in, requests to the store, frames out.
    func pump(_ link: SimulatedLink, _ end: Int) throws {
        guard let session = link.ends[end].session else { return }
        while !session.isCongested, session.ended == nil, !link.ends[end].arrived.isEmpty {
            let frame = link.ends[end].arrived.removeFirst()
            link.ends[end].inFlight -= 1
            frame.withUnsafeBytes { session.receive(frame: $0, now: now) }
        }
        sendFrames(link, from: end, session)
        let other = 1 - end
        if let ended = session.ended {
            note("node \(link.ends[end].node) ends link \(link.id): \(ended.reason)")
            link.isCut = true
            loseLink(link, end)
            queue.add(
                .loseLink(link: link.id, end: other), at: seconds + random.seconds(0...configuration.delaySecondsMax))
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
        if !link.isCut, let sender = link.ends[other].session { sendFrames(link, from: other, sender) }
    }

    func sendFrames(_ link: SimulatedLink, from end: Int, _ session: ReplicationSession) {
        let other = 1 - end
        while link.ends[other].inFlight < configuration.windowFrames {
            var frame: [UInt8] = []
            guard session.appendNextFrame(to: &frame) else { break }
            link.ends[other].inFlight += 1
            let arrival = max(
                link.ends[other].lastArrivalSeconds, seconds + random.seconds(0...configuration.delaySecondsMax))
            link.ends[other].lastArrivalSeconds = arrival
            queue.add(.deliver(link: link.id, end: other, frame: frame), at: arrival)
        }
        // After the frames, since taking one can ask for the next piece of a blob.
        let incarnation = nodes[link.ends[end].node].incarnation
        for request in session.takeStoreRequests() {
            queue.add(
                .performStore(link: link.id, end: end, incarnation: incarnation, request),
                at: seconds + random.seconds(0...configuration.storeSecondsMax))
        }
    }

    func dial(_ index: Int) throws {
        pairs[index].isDialling = false
        let pair = pairs[index]
        guard !pair.isCut, nodes[pair.active].isUp, nodes[pair.passive].isUp else { return redial(index) }
        if let old = pair.link {
            guard links[old].ends[0].session == nil else { return }
            // The passive end may still hold the old link: the new one takes its place.
            links[old].isCut = true
            links[old].ends[1].session = nil
        }
        let link = SimulatedLink(id: links.count, active: pair.active, passive: pair.passive)
        links.append(link)
        pairs[index].link = link.id
        note("node \(pair.active) opens link \(link.id) to node \(pair.passive)")
        let limits = configuration.limits
        for end in [1, 0] {
            let node = nodes[link.ends[end].node]
            let peer = nodes[link.ends[1 - end].node]
            let session = ReplicationSession(
                ReplicationConfiguration(
                    role: end == 0 ? .active : .passive, checkpointName: "cp-\(node.index)-\(peer.index)",
                    progressName: "progress/\(peer.index)", peerIsKith: true,
                    limits: limits[link.ends[end].node % limits.count]))
            link.ends[end].session = session
            link.ends[end].toldThrough = try node.lastSequence()
            session.start(lastSequence: link.ends[end].toldThrough, now: now)
            try pump(link, end)
        }
    }

    func redial(_ index: Int) {
        guard !pairs[index].isDialling else { return }
        pairs[index].isDialling = true
        queue.add(.dial(pair: index), at: seconds + random.seconds(0.05...2))
    }

    /// The cable is out: each end finds out in its own time.
    func cut(_ link: SimulatedLink) {
        link.isCut = true
        for end in 0..<2 { queue.add(.loseLink(link: link.id, end: end), at: seconds + random.seconds(0...8)) }
    }

    func loseLink(_ link: SimulatedLink, _ end: Int) {
        guard link.ends[end].session != nil else { return }
        link.ends[end].session = nil
        link.ends[end].arrived = []
        guard end == 0, let pair = pairs.firstIndex(where: { $0.link == link.id }) else { return }
        redial(pair)
    }
}
