/// A connection of two nodes: two streams, each of which keeps its order.
final class SimulatedConnection {
    enum Message {
        /// A dial, the listener's proof of who it is, and the request for a link.
        case hello, helloAnswer, upgrade
        /// The answers to the request.
        case taken
        case refused(isCrossed: Bool)
        case ping, pong, data
        /// The other end has closed.
        case reset
    }

    let number: Int
    /// The node that dialled, and the one that was.
    let nodes: [Int]
    let beganAtSeconds: Double
    /// Whether each end is open.
    var isOpen = [true, true]
    /// Whether the kernel of the dialled machine has answered.
    var isConnected = false
    /// Since when nothing arrives any more in either direction, without a word.
    var diedAtSeconds = Double.infinity
    /// What each end has sent that waits for its way to be free: the kernel sends it again.
    var held: [[Message]] = [[], []]
    /// When the last message of each end arrives.
    var lastArrivalSeconds = [0.0, 0.0]

    init(number: Int, from: Int, to: Int, atSeconds now: Double) {
        self.number = number
        nodes = [from, to]
        beganAtSeconds = now
    }

    var isDead: Bool { diedAtSeconds < .infinity }

    var isClosed: Bool { !isOpen[0] && !isOpen[1] }

    func side(of node: Int) -> Int { nodes[0] == node ? 0 : 1 }
}
