import KithReplication

/// What `LinkManager`, `LinkDialler` and `PeerLink` do around the machines.
extension LinkSimulation {
    /// As in `NodeLimits`.
    private static let connectSecondsMax = 4.0
    private static let upgradeSecondsMax = 10.0

    func perform(_ actions: [LinkKeeper.Action], _ end: SimulatedLinkEnd) {
        for action in actions {
            switch action {
            case .dial: dial(end)
            case .cancelDial:
                if let dial = end.dial { close(dial, of: end.node) }
                end.dial = nil
            case .endLink:
                guard configuration.sabotage != .keepsOldLink else { continue }
                if let link = end.link { close(link, of: end.node) }
                end.link = nil
                end.heartbeat = nil
            case .probeLink:
                guard let link = end.link, end.heartbeat?.probe(atSeconds: now) == true else { continue }
                send(link, from: end.node, .ping)
                armHeartbeat(end, link)
            }
        }
        arm(end)
    }

    func arm(_ end: SimulatedLinkEnd) {
        if let due = end.keeper.wakeAtSeconds { queue.add(.wake(end), at: max(now, due)) }
    }

    func wake(_ end: SimulatedLinkEnd) {
        let actions = end.keeper.wake(atSeconds: now)
        if !actions.isEmpty { perform(actions, end) }
    }

    private func dial(_ end: SimulatedLinkEnd) {
        guard end.hasAddress else { return end.keeper.dialFailed(.noAddress, moment(end.node)) }
        if let last = end.lastDialSeconds, now - last < LinkLimits.redialSecondsMin - 1e-6 {
            fail("node \(end.node) dials \(end.peer) again after \(now - last) s")
        }
        log("\(end.node) dials \(end.peer)")
        end.lastDialSeconds = now
        report.dials.append(now)
        report.dialsOfNode[end.node] += 1
        if end.peer == refusingNode { report.dialsOfRefusing += 1 }
        connectionCount += 1
        let connection = SimulatedConnection(
            number: connectionCount, from: end.node, to: end.peer, atSeconds: now)
        let (first, second) = (min(end.node, end.peer), max(end.node, end.peer))
        connections[first][second].removeAll(where: \.isClosed)
        connections[first][second].append(connection)
        end.dial = connection
        send(connection, from: end.node, .hello)
        queue.add(.dialTimeout(end, connection, isConnect: true), at: now + Self.connectSecondsMax)
        queue.add(.dialTimeout(end, connection, isConnect: false), at: now + Self.upgradeSecondsMax)
    }

    func dialTimedOut(_ end: SimulatedLinkEnd, _ connection: SimulatedConnection, isConnect: Bool) {
        guard end.dial === connection, !isConnect || !connection.isConnected else { return }
        close(connection, of: end.node)
        dialFailed(end, .failed)
    }

    private func dialFailed(_ end: SimulatedLinkEnd, _ failure: LinkKeeper.Failure) {
        log("\(end.node) did not reach \(end.peer): \(failure)")
        end.dial = nil
        end.keeper.dialFailed(failure, moment(end.node))
        arm(end)
    }

    /// A process reads what has come for it.
    func read(_ connection: SimulatedConnection, at node: Int, _ message: SimulatedConnection.Message) {
        let end = ends[node][connection.nodes[1 - connection.side(of: node)]]
        if end.link === connection { end.heartbeat?.heard(atSeconds: now) }
        switch message {
        case .hello:
            if end.refuses || node == refusingNode {
                send(connection, from: node, .refused(isCrossed: false))
                connection.isOpen[1] = false
            } else {
                send(connection, from: node, .helloAnswer)
            }
        case .helloAnswer:
            guard end.dial === connection else { return }
            end.keeper.dialAnswered(true)
            send(connection, from: node, .upgrade)
        case .upgrade: asked(end, connection)
        case .taken:
            guard end.dial === connection else { return }
            end.dial = nil
            if end.keeper.dialOpened(atSeconds: now) { take(end, connection) } else { close(connection, of: node) }
        case .refused(let isCrossed):
            guard end.dial === connection else { return }
            connection.isOpen[0] = false
            dialFailed(end, isCrossed ? .crossed : .failed)
        case .ping: send(connection, from: node, .pong)
        case .data:
            end.keeper.settled()
            send(connection, from: node, .pong)
        case .pong: if end.link === connection { end.keeper.settled() }
        case .reset:
            connection.isOpen[connection.side(of: node)] = false
            if end.link === connection { ended(end) }
            if end.dial === connection { dialFailed(end, .failed) }
        }
    }

    private func asked(_ end: SimulatedLinkEnd, _ connection: SimulatedConnection) {
        let (answer, actions) = end.keeper.asked()
        perform(actions, end)
        guard answer == .accept else {
            send(connection, from: end.node, .refused(isCrossed: true))
            connection.isOpen[1] = false
            return
        }
        perform(end.keeper.accepted(atSeconds: now), end)
        send(connection, from: end.node, .taken)
        take(end, connection)
    }

    private func take(_ end: SimulatedLinkEnd, _ connection: SimulatedConnection) {
        log("\(end.node) has link \(connection.number) with \(end.peer)")
        if end.link != nil { fail("node \(end.node) has two links to \(end.peer)") }
        report.links += 1
        end.link = connection
        end.heartbeat = LinkHeartbeat(atSeconds: now)
        armHeartbeat(end, connection)
        if connection.nodes[0] == end.node { send(connection, from: end.node, .data) }
    }

    private func armHeartbeat(_ end: SimulatedLinkEnd, _ connection: SimulatedConnection) {
        guard let due = end.heartbeat?.wakeAtSeconds else { return }
        queue.add(.beat(end, connection), at: max(now, due))
    }

    func beat(_ end: SimulatedLinkEnd, _ connection: SimulatedConnection) {
        guard end.link === connection, var heartbeat = end.heartbeat else { return }
        let verdict = heartbeat.wake(atSeconds: now, isDeaf: false)
        end.heartbeat = heartbeat
        switch verdict {
        case .nothing: break
        case .ping: send(connection, from: end.node, .ping)
        case .dead:
            guard configuration.sabotage != .noHeartbeat else { return }
            log("\(end.node) finds \(end.peer) dead")
            report.deaths += 1
            close(connection, of: end.node)
            return ended(end)
        }
        armHeartbeat(end, connection)
    }

    private func ended(_ end: SimulatedLinkEnd) {
        end.link = nil
        end.heartbeat = nil
        end.keeper.ended(moment(end.node))
        arm(end)
    }
}
