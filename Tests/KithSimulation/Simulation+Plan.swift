import KithDocuments
import KithReplication

// What will happen and when, drawn from the seed before anything does.

extension Simulation {
    func plan() {
        let busy = configuration.busySeconds
        for pair in pairs.indices where random.chance(configuration.oneWayShare) {
            pairs[pair].directions = drawDirections()
            if random.chance(0.3) { queue.add(.setDirections(pair: pair), at: random.seconds(0...busy)) }
        }
        for pair in pairs.indices { queue.add(.dial(pair: pair), at: random.seconds(0...0.5)) }
        for _ in 0..<configuration.writeCount {
            queue.add(.act(node: anyNode()), at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.partitionCount {
            let event = Event.cut(pair: anyPair(), seconds: random.seconds(0.1...busy))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.stallCount {
            let ends = [[0], [1], [0, 1]][random.int(0..<3)]
            let event = Event.stall(pair: anyPair(), ends: ends, seconds: random.seconds(0.1...20))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.crashCount {
            let event = Event.crash(node: anyNode(), downSeconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.diskFullCount {
            let pagesLeft = random.chance(0.3) ? nil : random.int(0..<30)
            let event = Event.fillDisk(node: anyNode(), pagesLeft: pagesLeft, seconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.slowReaderCount {
            let (pair, end, start) = (anyPair(), random.int(0..<2), random.seconds(0...busy))
            queue.add(.slowDown(pair: pair, end: end, pauseSeconds: random.seconds(0.01...0.5)), at: start)
            queue.add(.slowDown(pair: pair, end: end, pauseSeconds: 0), at: min(busy, start + random.seconds(0.5...30)))
        }
        for _ in 0..<configuration.clockJumpCount {
            // Up to eleven days; mostly enough for every lease to end, or to last.
            let size = Int64(random.seconds(-1_000_000_000...1_000_000_000))
            queue.add(.setClock(node: anyNode(), errorMilliseconds: size), at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.replacementCount {
            let node = anyNode()
            let other = anyNode()
            let replacement = [Replacement.empty, .restored, .backupFile, .copy(ofNode: other)][random.int(0..<4)]
            let time = random.seconds(0...busy)
            queue.add(.backUp(node: other == node || random.chance(0.5) ? node : other), at: random.seconds(0...time))
            queue.add(.replaceDatabase(node: node, replacement, downSeconds: random.seconds(0.1...10)), at: time)
        }
        planFilters()
        planOnce()
        planClients()
        queue.add(.settle, at: busy + 1)
        queue.add(.editPurged, at: busy + 300)
    }

    /// One way or the other, as either end or both have it.
    func drawDirections() -> [ReplicationDirections] {
        let directions: [[ReplicationDirections]] = [
            [.send, .both], [.both, .receive], [.send, .receive], [.receive, .both], [.both, .send], [.receive, .send],
        ]
        return directions[random.int(0..<directions.count)]
    }

    private func planFilters() {
        for pair in pairs.indices where random.chance(configuration.filterShare) {
            pairs[pair].filters = drawFilters()
            if random.chance(0.3) {
                queue.add(.setFilters(pair: pair), at: random.seconds(0...configuration.busySeconds))
            }
        }
    }

    func drawFilters() -> [SimulatedFilter?] {
        (0..<2).map { _ in random.chance(0.6) ? SimulatedFilter(number: random.int(0..<6)) : nil }
    }

    private func planOnce() {
        for _ in 0..<configuration.onceCount {
            var ids: Set<DocumentID>?
            if random.chance(0.3) {
                ids = Set(
                    (0..<configuration.documentCount).filter { _ in random.chance(0.4) }.compactMap { documentID($0) })
            }
            let event = Event.dialOnce(pair: anyPair(), isReversed: random.chance(0.5), documentIDs: ids)
            queue.add(event, at: random.seconds(0...configuration.busySeconds + 20))
        }
    }

    private func planClients() {
        for index in 0..<configuration.clientCount {
            var options = SimulatedClient.Options()
            options.isContinuous = random.chance(0.6)
            options.namesCollection = random.chance(0.4)
            if random.chance(0.3) { if random.chance(0.5) { options.pushes = false } else { options.pulls = false } }
            if random.chance(0.2) {
                options.documentIDs = Set(
                    (0..<configuration.documentCount).filter { _ in random.chance(0.6) }.compactMap { documentID($0) })
            }
            clients.append(SimulatedClient(index: index, node: anyNode(), options: options))
            queue.add(.connectClient(index), at: random.seconds(0...configuration.busySeconds / 2))
            // Who replicates once does so a last time, and once more for what came meanwhile.
            for pause in options.isContinuous ? [] : [100.0, 200, 300] {
                queue.add(.connectClient(index), at: configuration.busySeconds + pause)
            }
            for _ in 0..<random.int(0..<3) {
                queue.add(.cutClient(index), at: random.seconds(0...configuration.busySeconds))
            }
            guard options.pushes else { continue }
            for _ in 0..<random.int(2..<12) {
                queue.add(.actClient(index), at: random.seconds(0...configuration.busySeconds))
            }
        }
    }

    func documentID(_ number: Int) -> DocumentID? { try? DocumentID("visit-\(number)") }

    private func anyNode() -> Int { random.int(0..<nodes.count) }
    private func anyPair() -> Int { random.int(0..<pairs.count) }
}
