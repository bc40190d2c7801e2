/// What must hold on a site.
extension LinkSimulation {
    /// A dead peer is found within this time by whoever had a link with it, also where only one direction is lost.
    private static let deadSecondsMax = 30.0

    /// Both ends, or only the first, must have given up the link that they have now when its peer stays away.
    func expectUnlinkedSoon(_ node: Int, _ peer: Int, isMutual: Bool = true) {
        for (node, peer) in isMutual ? [(node, peer), (peer, node)] : [(node, peer)] where ends[node][peer].link != nil
        {
            queue.add(.expectUnlinked(node, peer, since: now), at: now + Self.deadSecondsMax)
        }
    }

    func expectUnlinked(_ node: Int, _ peer: Int, since: Double) {
        guard let link = ends[node][peer].link, link.beganAtSeconds <= since, isUp[node], !isFrozen[node],
            disturbedAtSeconds[node] < since
        else { return }
        // What came back meanwhile may live on.
        let isPeerAway = (!isUp[peer] || isFrozen[peer]) && disturbedAtSeconds[peer] <= since
        let isCut = min(blockedSinceSeconds[node][peer], blockedSinceSeconds[peer][node]) <= since
        guard link.diedAtSeconds <= since || isCut || isPeerAway else { return }
        fail("node \(node) has not found in \(Self.deadSecondsMax) s that link \(link.number) with \(peer) is dead")
    }

    private func pairs() -> [(SimulatedLinkEnd, SimulatedLinkEnd)] {
        var result: [(SimulatedLinkEnd, SimulatedLinkEnd)] = []
        for first in ends.indices where first != refusingNode {
            for second in ends.indices where second > first && second != refusingNode {
                result.append((ends[first][second], ends[second][first]))
            }
        }
        return result
    }

    var isWhole: Bool { pairs().allSatisfy { $0.link != nil && $0.link === $1.link } }

    /// A healed site is whole in time, with one link for each pair, and stays so without another dial.
    func checkEnd() {
        if report.wholeAfterSeconds > Self.wholeSecondsMax {
            fail("not whole after \(report.wholeAfterSeconds) s")
        }
        for (end, other) in pairs() {
            guard let link = end.link, link === other.link else {
                fail("\(end.node) and \(end.peer) have links \(end.link?.number ?? -1) and \(other.link?.number ?? -1)")
                continue
            }
            let open = connections(end.node, end.peer).count { $0.isOpen[0] && $0.isOpen[1] }
            if open != 1 { fail("\(end.node) and \(end.peer) have \(open) connections") }
        }
        if refusingNode == nil, let last = report.dials.last, last > report.healedAtSeconds + Self.wholeSecondsMax {
            fail("dials go on when all are linked")
        }
    }
}
