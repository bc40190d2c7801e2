/// What goes wrong on a site, and how it is healed.
extension LinkSimulation {
    enum Fault {
        /// What a node sends to another is lost.
        case oneWay(from: Int, to: Int)
        /// A cable is pulled; when it is back the node knows, and discovery tells the others, maybe late.
        case cable(Int)
        /// A process stands still; its machine does not.
        case freeze(Int)
        /// A machine loses its power.
        case power(Int)
        /// Connections of a pair, or of all, are dead without a word.
        case kill(Int, Int)
        case killAll
        /// The switch is dark.
        case dark
        /// A node does not take links of another for a while: trust was taken back, a database is not there.
        case refusal(Int, of: Int)
        /// Discovery says again and again that a node has appeared at new addresses, whether that is so or not.
        case words(Int, about: Int)
    }

    func plan() {
        if let node = refusingNode {
            for second in stride(from: 1.0, to: Self.faultSeconds, by: 0.5) {
                for other in 0..<node { queue.add(.word(node: other, about: node, isNews: true), at: second) }
            }
        }
        if let reboot = configuration.reboot {
            queue.add(.fault(.dark), at: Self.faultSeconds / 2)
            if reboot.killsConnections { queue.add(.fault(.killAll), at: Self.faultSeconds / 2) }
            queue.add(.undo(.dark), at: Self.faultSeconds / 2 + reboot.darkSeconds)
        }
        for _ in 0..<configuration.faultCount {
            let start = generator.seconds(0...Self.faultSeconds)
            let fault = randomFault()
            queue.add(.fault(fault), at: start)
            let isLong = generator.chance(0.4)
            queue.add(.undo(fault), at: min(Self.faultSeconds, start + generator.seconds(isLong ? 0...90 : 0...12)))
        }
        queue.add(.heal, at: Self.faultSeconds)
    }

    private func randomFault() -> Fault {
        let first = generator.int(0..<configuration.nodeCount)
        let second = (first + generator.int(1..<configuration.nodeCount)) % configuration.nodeCount
        switch generator.int(0..<10) {
        case 0, 1, 2: return .oneWay(from: first, to: second)
        case 3: return .cable(first)
        case 4: return .freeze(first)
        case 5: return .power(first)
        case 6: return .kill(first, second)
        case 7: return .refusal(first, of: second)
        case 8: return .words(first, about: second)
        default: return generator.chance(0.5) ? .killAll : .kill(first, second)
        }
    }

    private func others(_ node: Int) -> [Int] { ends.indices.filter { $0 != node } }

    func begin(_ fault: Fault) {
        guard !isHealed else { return }
        log("fault: \(fault)")
        switch fault {
        case .oneWay(let from, let to):
            block(from, to)
            expectUnlinkedSoon(from, to)
        case .cable(let node):
            for other in others(node) {
                block(node, other)
                block(other, node)
                expectUnlinkedSoon(node, other)
            }
        case .freeze(let node):
            guard isUp[node] else { return }
            isFrozen[node] = true
            disturbedAtSeconds[node] = now
            for other in others(node) { expectUnlinkedSoon(other, node, isMutual: false) }
        case .power(let node): cutPower(node)
        case .kill(let first, let second): kill(connections(first, second))
        case .killAll: kill(connections.joined().flatMap { $0 })
        case .dark:
            for node in ends.indices { for other in others(node) { block(node, other) } }
            for node in ends.indices {
                for other in node + 1..<max(ends.count, node + 1) { expectUnlinkedSoon(node, other) }
            }
        case .refusal(let node, let peer):
            ends[node][peer].refuses = true
        case .words(let node, let peer):
            for second in 0..<40 {
                let at = now + Double(second) * 0.25
                queue.add(.word(node: node, about: peer, isNews: generator.chance(0.7)), at: at)
            }
        }
    }

    func end(_ fault: Fault) {
        guard !isHealed else { return }
        log("over: \(fault)")
        switch fault {
        case .oneWay(let from, let to): unblock(from, to)
        case .cable(let node):
            for other in others(node) {
                unblock(node, other)
                unblock(other, node)
            }
            noticeNetwork(node)
            for other in others(node) where generator.chance(0.7) {
                queue.add(.word(node: other, about: node, isNews: false), at: now + generator.seconds(0...10))
            }
        case .freeze(let node): if isFrozen[node] { thaw(node) }
        case .power(let node): restorePower(node)
        case .dark:
            for node in ends.indices { for other in others(node) { unblock(node, other) } }
            if configuration.reboot?.isNoticed == true { for node in ends.indices { noticeNetwork(node) } }
        case .refusal(let node, let peer): ends[node][peer].refuses = false
        case .kill, .killAll, .words: break
        }
    }

    private func noticeNetwork(_ node: Int) {
        for other in others(node) { queue.add(.word(node: node, about: other, isNews: true), at: now) }
    }

    private func kill(_ connections: [SimulatedConnection]) {
        for connection in connections where !connection.isClosed && !connection.isDead {
            connection.diedAtSeconds = now
            expectUnlinkedSoon(connection.nodes[0], connection.nodes[1])
        }
    }

    private func cutPower(_ node: Int) {
        guard isUp[node] else { return }
        isUp[node] = false
        isFrozen[node] = false
        waiting[node] = []
        disturbedAtSeconds[node] = now
        for connection in others(node).flatMap({ connections(node, $0) }) {
            connection.isOpen[connection.side(of: node)] = false
            connection.held[connection.side(of: node)] = []
        }
        for end in ends[node] where end.peer != node { end.forget() }
        for other in others(node) { expectUnlinkedSoon(other, node, isMutual: false) }
    }

    private func restorePower(_ node: Int) {
        guard !isUp[node] else { return }
        isUp[node] = true
        disturbedAtSeconds[node] = now
        start(node)
    }

    /// Everything is whole from now on, and nobody says so.
    func heal() {
        for node in ends.indices {
            for other in others(node) {
                ends[node][other].refuses = false
                while blocks[node][other] > 0 { unblock(node, other) }
            }
            if isFrozen[node] { thaw(node) }
            restorePower(node)
        }
        log("healed")
        isHealed = true
        report.healedAtSeconds = now
        queue.add(.look, at: now)
    }
}
