/// Which nodes of a mesh are linked, as a drawing says.
///
/// Nodes are digits. A link is a line between two of them: `-`, `|`, `/` or `\`, each in its own direction, with `+` at a
/// corner and `X` where two diagonals cross. A row of `#` is a switch: all nodes whose lines end at it are linked with each other.
///
/// ```swift
/// try Topology("line", drawing: "0---1---2")
/// ```
public struct Topology: Sendable {
    /// What is wrong with a drawing.
    public struct DrawingError: Error, CustomStringConvertible {
        /// What is wrong, and where.
        public let description: String
    }

    /// A link between two nodes, the one with the smaller number first.
    public struct Edge: Sendable, Hashable, Comparable {
        /// The nodes.
        public let first: Int, second: Int

        init(_ one: Int, _ other: Int) { (first, second) = (min(one, other), max(one, other)) }

        /// By the first node, then by the second.
        public static func < (lhs: Edge, rhs: Edge) -> Bool { (lhs.first, lhs.second) < (rhs.first, rhs.second) }
    }

    /// What it is called.
    public let name: String
    /// The number of nodes, which are `0..<nodeCount`.
    public let nodeCount: Int
    /// The links, in order.
    public let edges: [Edge]

    /// Reads a drawing.
    ///
    /// - Throws: `DrawingError` when a line ends nowhere, a node is missing, linked with itself or not reachable from the first.
    public init(_ name: String, drawing: String) throws(DrawingError) {
        let reader = DrawingReader(drawing)
        let places = try reader.nodes()
        var edges: Set<Edge> = []
        /// The nodes at each switch.
        var switches: [DrawingReader.Place: Set<Int>] = [:]
        for (node, place) in places {
            for end in try reader.lineEnds(from: place) {
                switch end {
                case .node(let other) where other == node:
                    throw DrawingError(description: "\(node) is linked with itself")
                case .node(let other): edges.insert(Edge(node, other))
                case .hub(let place): switches[place, default: []].insert(node)
                }
            }
        }
        for nodes in switches.values {
            for one in nodes { for other in nodes where one < other { edges.insert(Edge(one, other)) } }
        }
        self.name = name
        nodeCount = places.count
        self.edges = edges.sorted()
        var reached: Set<Int> = [0]
        while let edge = self.edges.first(where: { reached.contains($0.first) != reached.contains($0.second) }) {
            reached.formUnion([edge.first, edge.second])
        }
        guard reached.count == nodeCount else {
            throw DrawingError(description: "\(name): only \(reached.sorted()) are reachable from 0")
        }
    }
}
