/// Messages between nodes, and what is lost of them.
extension LinkSimulation {
    func send(_ connection: SimulatedConnection, from node: Int, _ message: SimulatedConnection.Message) {
        let side = connection.side(of: node)
        guard connection.isOpen[side], !connection.isDead else { return }
        deliver(connection, side, message)
    }

    private func deliver(_ connection: SimulatedConnection, _ side: Int, _ message: SimulatedConnection.Message) {
        let (from, to) = (connection.nodes[side], connection.nodes[1 - side])
        guard blocks[from][to] == 0 else {
            // The kernel sends it again, but a reset is sent once.
            if case .reset = message {} else { connection.held[side].append(message) }
            return
        }
        let arrival = max(connection.lastArrivalSeconds[side], now + delays[from][to])
        connection.lastArrivalSeconds[side] = arrival
        queue.add(.arrive(connection, from: from, message), at: arrival)
    }

    func arrive(_ connection: SimulatedConnection, from: Int, _ message: SimulatedConnection.Message) {
        let side = connection.side(of: from)
        let to = connection.nodes[1 - side]
        guard !connection.isDead, isUp[to] else { return }
        guard blocks[from][to] == 0 else { return deliver(connection, side, message) }
        if case .hello = message, connection.isOpen[0], blocks[to][from] == 0 { connection.isConnected = true }
        guard connection.isOpen[1 - side] else {
            // The kernel says that there is no such connection.
            if case .reset = message {} else { deliver(connection, 1 - side, .reset) }
            return
        }
        if isFrozen[to] { return waiting[to].append(.arrive(connection, from: from, message)) }
        read(connection, at: to, message)
    }

    /// Closes an end, and tells the other, if that gets through.
    func close(_ connection: SimulatedConnection, of node: Int) {
        let side = connection.side(of: node)
        guard connection.isOpen[side] else { return }
        connection.held[side] = []
        send(connection, from: node, .reset)
        connection.isOpen[side] = false
    }

    func block(_ from: Int, _ to: Int) {
        blocks[from][to] += 1
        if blocks[from][to] == 1 { blockedSinceSeconds[from][to] = now }
    }

    func unblock(_ from: Int, _ to: Int) {
        blocks[from][to] -= 1
        guard blocks[from][to] == 0 else { return }
        blockedSinceSeconds[from][to] = .infinity
        for connection in connections(from, to) where !connection.isDead {
            let side = connection.side(of: from)
            let held = connection.held[side]
            connection.held[side] = []
            for message in held where connection.isOpen[side] { deliver(connection, side, message) }
        }
    }
}
