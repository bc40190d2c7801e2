// What will happen and when, drawn from the seed before anything does.

extension Simulation {
    func plan() {
        let busy = configuration.busySeconds
        for pair in pairs.indices { queue.add(.dial(pair: pair), at: random.seconds(0...0.5)) }
        for _ in 0..<configuration.writeCount {
            queue.add(.write(node: random.int(0..<nodes.count)), at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.partitionCount {
            let event = Event.cut(pair: random.int(0..<pairs.count), seconds: random.seconds(0.1...busy))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.crashCount {
            let event = Event.crash(node: random.int(0..<nodes.count), downSeconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.diskFullCount {
            let event = Event.fillDisk(node: random.int(0..<nodes.count), seconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
    }
}
